#include "halfstep/formats/c/source_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace halfstep::formats::c {
namespace {

constexpr const char* kFloatGuards =
    "#include <float.h>\n\n"
    "#if FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD > 1 || FLT_MANT_DIG != 24 || DBL_MANT_DIG != 53\n"
    "#error \"codes are computed in float32, but this compiler uses another precision\"\n#endif\n"
    "#ifdef __FAST_MATH__\n#error \"codes are computed in float32: compile without -ffast-math\"\n#endif\n"
    "#if defined(__clang__)\n#pragma STDC FP_CONTRACT OFF\n#elif defined(__GNUC__)\n"
    "#pragma GCC optimize(\"fp-contract=off\")\n#endif\n";

std::string pointer(const Buffer& buffer) {
  const std::string type = c_type(buffer.dtype);
  if (buffer.storage == Storage::output)
    return fmt::format("    {} *const {} = {};\n", type, buffer.name, buffer.parameter);
  return fmt::format("    {0} *const {1} = ({0} *)(void *)(base + {2}); /* {3} bytes */\n", type, buffer.name,
                     buffer.offset, buffer.bytes());
}

std::string body_text(const SourceParts& parts) {
  const std::string name = upper(parts.program.name);
  std::string text = "    (void)arena;\n    (void)arena_bytes;\n    {\n";
  if (parts.program.arena_bytes > 0)
    text = fmt::format(
        "    unsigned char *const base = (unsigned char *)arena;\n"
        "    if (arena_bytes < {0}_ARENA_BYTES) return {0}_ARENA_TOO_SMALL;\n"
        "    if ((uintptr_t)arena % {0}_ARENA_ALIGNMENT != 0) return {0}_ARENA_MISALIGNED;\n    {{\n",
        name);
  for (const Buffer& buffer : parts.body.buffers) {
    if (buffer.storage != Storage::input) text += pointer(buffer);
  }
  for (const CallText& call : parts.body.calls) {
    if (!call.comment.empty()) text += "\n" + indentation(call.depth) + "/* " + c_comment(call.comment) + " */\n";
    text += call.text + call.hooks;
  }
  return text + fmt::format("    }}\n    return {}_OK;\n", name);
}

std::string arguments(const CProgram& program) {
  std::string text;
  for (const auto& ports : {program.inputs, program.outputs}) {
    for (const CPort& port : ports) text += (text.empty() ? "" : ", ") + port.name;
  }
  return text;
}

std::string run_text(const SourceParts& parts) {
  const CProgram& program = parts.program;
  const std::string parameters = run_parameters(program) + ", void *arena, size_t arena_bytes";
  std::string text;
  if (parts.hooks) {
    text += fmt::format("int {0}_run_showing({1}, {0}_hook hook, void *user)\n{{\n{2}}}\n\n", program.name, parameters,
                        body_text(parts));
    text +=
        fmt::format("int {0}_run_in({1})\n{{\n    return {0}_run_showing({2}, arena, arena_bytes, NULL, NULL);\n}}\n\n",
                    program.name, parameters, arguments(program));
  } else {
    text += fmt::format("int {}_run_in({})\n{{\n{}}}\n\n", program.name, parameters, body_text(parts));
  }
  return text +
         fmt::format(
             "#ifndef {1}_GIVEN_ARENA\nint {0}_run({2})\n{{\n    static union {{\n        unsigned char "
             "bytes[{1}_ARENA_BYTES > 0 ? {1}_ARENA_BYTES : 1];\n        int{4}_t aligned;\n    }} arena;\n    return "
             "{0}_run_in({3}, &arena, sizeof arena);\n}}\n#endif\n",
             program.name, upper(program.name), run_parameters(program), arguments(program),
             8 * program.arena_alignment);
}

std::string ends_text(const SourceParts& parts) {
  std::string text = fmt::format("\n#ifndef {}_NO_FLOAT\n\n", upper(parts.program.name));
  text += parts.ends.kernels.text(parts.body.kernels) + parts.ends.constants;
  for (const EndText& end : parts.end_texts) {
    const std::string type = c_type(end.port.type.dtype);
    text += fmt::format("\nvoid {}({})\n{{\n    {}\n}}\n", end_function(parts.program, end),
                        end.verb == "quantize" ? fmt::format("const float *floats, {} *{}", type, end.port.name)
                                               : fmt::format("const {} *{}, float *floats", type, end.port.name),
                        end.call);
  }
  return text + "\n#endif\n";
}

}  // namespace

std::string run_parameters(const CProgram& program) {
  std::string text;
  for (const CPort& port : program.inputs)
    text += fmt::format("{}const {} *{}", text.empty() ? "" : ", ", c_type(port.type.dtype), port.name);
  for (const CPort& port : program.outputs) text += fmt::format(", {} *{}", c_type(port.type.dtype), port.name);
  return text;
}

std::string source_text(const SourceParts& parts) {
  std::string text = fmt::format(
      "/* The network \"{}\" in integers. {}.h describes how to call it. */\n#include \"{}.h\"\n\n"
      "#include <string.h>\n",
      c_comment(parts.network), parts.program.name, parts.program.name);
  if (parts.body.uses_math) text += "#include <math.h>\n";
  if (parts.body.uses_floats) text += kFloatGuards;
  if (parts.body.counts_iterations)
    text += fmt::format("\n#ifndef {0}_MAX_ITERATIONS\n#define {0}_MAX_ITERATIONS 0 /* none */\n#endif\n",
                        upper(parts.program.name));
  text += "\n" + parts.body.kernels.text() + parts.body.constants + "\n" + run_text(parts);
  return parts.end_texts.empty() ? text : text + ends_text(parts);
}

}  // namespace halfstep::formats::c
