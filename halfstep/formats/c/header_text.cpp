#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "halfstep/formats/c/orders.h"
#include "halfstep/formats/c/source_text.h"

namespace halfstep::formats::c {
namespace {

/// "[8][8][1]"
std::string extents(const Dims& dims) {
  std::string text;
  for (const int64_t dim : dims) text += fmt::format("[{}]", dim);
  return text.empty() ? "[1]" : text;
}

std::string port_comment(const CPort& port, const char* kind) {
  std::string text = fmt::format(" *   {} {}{}: the {} \"{}\"{}", c_type(port.type.dtype), port.name,
                                 extents(stored_dims(port.type.dims, port.is_image)), kind, c_comment(port.value),
                                 port.is_image ? " as [samples][rows][columns][channels]" : "");
  if (port.is_codes) text += fmt::format(",\n *       real = (code - {}) * {}", port.zero_point, c_number(port.scale));
  return text + "\n";
}

std::string floats_comment(const SourceParts& parts) {
  const CProgram& program = parts.program;
  if (!program.uses_floats)
    return fmt::format(
        " * {0}_run uses no floating point. {0}_quantize and {0}_dequantize use it; {1}_NO_FLOAT omits them.\n",
        program.name, upper(program.name));
  std::string text = fmt::format(
      " * {0}_run computes in float32, because this platform computes codes so: the compiler must neither fuse\n"
      " * operations nor reorder them (-ffp-contract=off, no -ffast-math).\n",
      program.name);
  if (!program.fallbacks.empty()) {
    text += fmt::format(" * {} of its layers stay in float. Their last bits depend on the C library:\n",
                        program.fallbacks.size());
    for (const std::string& layer : program.fallbacks) text += " *   " + c_comment(layer) + "\n";
  }
  return text;
}

std::string introduction(const SourceParts& parts) {
  const CProgram& program = parts.program;
  std::string text = fmt::format(
      "/* The network \"{}\" in integers, as C99 for any processor. Written by halfstep export --format c.\n *\n"
      " * Inputs of {}_run:\n",
      c_comment(parts.network), program.name);
  for (const CPort& port : program.inputs) text += port_comment(port, "argument");
  text += " * Outputs:\n";
  for (const CPort& port : program.outputs) text += port_comment(port, "output");
  text += " *\n" + floats_comment(parts);
  text += fmt::format(
      " * It allocates no memory and keeps no state between calls.\n *\n"
      " * Flash: {} bytes of weights, {} bytes of other constants, and the code.\n"
      " * RAM:   {}_ARENA_BYTES between layers ({} bytes), and less than 2 KiB of stack.\n */\n",
      program.weight_bytes, program.constant_bytes - program.weight_bytes, upper(program.name), program.arena_bytes);
  return text;
}

std::string port_macros(const CProgram& program, const CPort& port) {
  const std::string prefix = upper(program.name) + "_" + upper(port.name);
  std::string text = fmt::format("#define {}_COUNT {}\n", prefix, count_elements(port.type.dims));
  if (!port.is_codes) return text;
  text += fmt::format("#define {}_SCALE {}\n", prefix, c_number(port.scale));
  return text + fmt::format("#define {}_ZERO_POINT {}\n", prefix, c_number(int64_t{port.zero_point}));
}

std::string iterations_text(const CProgram& program) {
  if (!program.counts_iterations) return "";
  return fmt::format(
      "/* A loop exceeded {0}_MAX_ITERATIONS, if that is defined when {1}.c is compiled. */\n"
      "#define {0}_TOO_MANY_ITERATIONS 3\n",
      upper(program.name), program.name);
}

std::string run_declarations(const SourceParts& parts) {
  const CProgram& program = parts.program;
  const std::string name = upper(program.name), parameters = run_parameters(program);
  std::string text = fmt::format(
      "/* Bytes that {2}_run_in needs, at an address that is a multiple of {1}_ARENA_ALIGNMENT. */\n"
      "#define {1}_ARENA_BYTES {0}\n#define {1}_ARENA_ALIGNMENT {4}\n\n"
      "/* Return values. */\n#define {1}_OK 0\n#define {1}_ARENA_TOO_SMALL 1\n#define {1}_ARENA_MISALIGNED 2\n{5}\n"
      "/* Runs in memory of the caller, which may be used for other purposes between calls. Several threads may run\n"
      " * the network at once, each in its own arena. Inputs, outputs and the arena must not overlap. "
      "*/\nint {2}_run_in({3}, void *arena, size_t arena_bytes);\n\n",
      program.arena_bytes, name, program.name, parameters, program.arena_alignment, iterations_text(program));
  text += fmt::format(
      "/* Runs in a static arena, so only one call may run at a time. {}_GIVEN_ARENA omits it. */\n"
      "#ifndef {}_GIVEN_ARENA\nint {}_run({});\n#endif\n\n",
      name, name, program.name, parameters);
  if (!parts.hooks) return text;
  return text +
         fmt::format(
             "/* Receives a layer: its name, its result, the number of elements and the bytes of each. Images are\n"
             " * [samples][rows][columns][channels]. Called at each execution of a layer in a branch or a loop. */\n"
             "typedef void (*{0}_hook)(const char *layer, const void *codes, size_t count, int bytes, void *user);\n\n"
             "/* Like {0}_run_in, and passes every layer to the hook. */\n"
             "int {0}_run_showing({1}, void *arena, size_t arena_bytes, {0}_hook hook, void *user);\n\n",
             program.name, parameters);
}

}  // namespace

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string end_function(const CProgram& program, const std::string& verb, const CPort& port) {
  const auto& ports = verb == "quantize" ? program.inputs : program.outputs;
  return program.name + "_" + verb + (ports.size() > 1 ? "_" + port.name : "");
}
std::string end_function(const CProgram& program, const EndText& end) {
  return end_function(program, end.verb, end.port);
}

std::string header_text(const SourceParts& parts) {
  const CProgram& program = parts.program;
  const std::string name = upper(program.name);
  std::string text = introduction(parts);
  text += fmt::format(
      "#ifndef {0}_H\n#define {0}_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\n"
      "extern \"C\" {{\n#endif\n\n",
      name);
  for (const auto& ports : {program.inputs, program.outputs}) {
    for (const CPort& port : ports) text += port_macros(program, port);
  }
  text += "\n" + run_declarations(parts);
  text += fmt::format("#ifndef {}_NO_FLOAT\n", name);
  for (const EndText& end : parts.end_texts) {
    const bool quantizes = end.verb == "quantize";
    text +=
        fmt::format("/* {}, {} float32 values {} in the order of the network: {}. */\nvoid {}({});\n",
                    quantizes ? "Codes of real values" : "Real values of codes", count_elements(end.port.type.dims),
                    quantizes ? "stored" : "to store", extents(end.port.type.dims), end_function(program, end),
                    quantizes ? fmt::format("const float *floats, {} *{}", c_type(end.port.type.dtype), end.port.name)
                              : fmt::format("const {} *{}, float *floats", c_type(end.port.type.dtype), end.port.name));
  }
  return text + "#endif\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

}  // namespace halfstep::formats::c
