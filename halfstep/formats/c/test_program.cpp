// C programs around a network: one that tests itself, and one that other programs use for tests.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/embedded.h"
#include "halfstep/formats/c/source_text.h"

namespace halfstep::formats::c {
namespace {

std::vector<int64_t> wholes(const Tensor& codes) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < codes.size(); ++i) values.push_back(static_cast<int64_t>(element(codes, i)));
  return values;
}

std::string list(const Tensor& tensor) {
  if (tensor.dtype() == DType::f32) return c_numbers(std::span<const float>(tensor.data<float>()));
  const auto values = wholes(tensor);
  return c_numbers(std::span<const int64_t>(values));
}

std::string arrays(const std::vector<CPort>& ports, const std::string& prefix, const std::vector<Case>& cases,
                   std::vector<Tensor> Case::*tensors) {
  std::string text;
  for (size_t p = 0; p < ports.size(); ++p) {
    text += fmt::format("static const {} {}_{}[CASES][{}] = {{\n", c_type(ports[p].type.dtype), prefix, ports[p].name,
                        count_elements(ports[p].type.dims));
    for (const Case& one : cases) text += "    {" + list((one.*tensors)[p]) + "},\n";
    text += "};\n";
  }
  return text;
}

std::string call_arguments(const CProgram& program, const std::string& inputs) {
  std::string text;
  for (const CPort& port : program.inputs)
    text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(inputs), port.name);
  for (const CPort& port : program.outputs) text += ", found_" + port.name;
  return text;
}

std::string static_arrays(const std::vector<CPort>& ports, const std::string& prefix, const std::string& type = "") {
  std::string text;
  for (const CPort& port : ports)
    text += fmt::format("static {} {}_{}[{}];\n", type.empty() ? c_type(port.type.dtype) : type, prefix, port.name,
                        count_elements(port.type.dims));
  return text;
}

}  // namespace

CFile test_program(const CProgram& program, const std::vector<Case>& cases) {
  std::string text = fmt::format(
      "/* Tests {0}.c on {1} samples: exit code 0 if every output is as expected. */\n#include <stdio.h>\n\n"
      "#include \"{0}.h\"\n\n#define CASES {1}\n\n",
      program.name, cases.size());
  text += arrays(program.inputs, "given", cases, &Case::inputs) +
          arrays(program.outputs, "expected", cases, &Case::outputs);
  text += static_arrays(program.outputs, "found");
  if (std::ranges::any_of(program.outputs, [](const CPort& port) { return port.type.dtype == DType::f32; }))
    text +=
        "\nstatic int same_floats(float a, float b)\n{\n    if (a == b || (a != a && b != b)) return 1; /* infinities "
        "and NaN */\n"
        "    return a - b <= 1e-5f && b - a <= 1e-5f;\n}\n";
  text += fmt::format(
      "\nint main(void)\n{{\n    int i, status, wrong = 0;\n    size_t k;\n    for (i = 0; i < CASES; ++i) {{\n"
      "        status = {}_run({});\n        if (status != {}_OK) {{\n            printf(\"sample %d: "
      "status %d\\n\", i, status);\n            return 1;\n        }}\n",
      program.name, call_arguments(program, "given_{}[i]"), upper(program.name));
  for (const CPort& port : program.outputs) {
    const bool is_real = port.type.dtype == DType::f32;
    text += fmt::format(
        "        for (k = 0; k < sizeof found_{0} / sizeof *found_{0}; ++k) {{\n"
        "            if ({2}) continue;\n"
        "            if (!wrong++)\n                printf(\"sample %d: {0}[%lu] is %{1}, expected %{1}\\n\", i, "
        "(unsigned "
        "long)k, {3}found_{0}[k],\n                       {3}expected_{0}[i][k]);\n        }}\n",
        port.name, is_real ? "g" : "ld",
        is_real ? fmt::format("same_floats(found_{0}[k], expected_{0}[i][k])", port.name)
                : fmt::format("found_{0}[k] == expected_{0}[i][k]", port.name),
        is_real ? "(double)" : "(long)");
  }
  text += "    }\n    printf(\"%d samples, %d wrong codes\\n\", CASES, wrong);\n    return wrong ? 1 : 0;\n}\n";
  return {program.name + "_main.c", text};
}

CFile driver_program(const CProgram& program) {
  std::string text = fmt::format("#include <stdio.h>\n#include <string.h>\n\n#include \"{}.h\"\n\n", program.name);
  for (const CPort& port : program.inputs) {
    if (port.is_codes) text += static_arrays({port}, "floats", "float");
  }
  text += static_arrays(program.inputs, "codes") + static_arrays(program.outputs, "found");
  const auto file = embedded("halfstep/formats/c/text/driver.c");
  text += "\n" + std::string(reinterpret_cast<const char*>(file.data()), file.size());
  const std::string name = upper(program.name);
  text += fmt::format(
      "\nint main(void)\n{{\n    static union {{\n        unsigned char bytes[{0}_ARENA_BYTES > 0 ? {0}_ARENA_BYTES : "
      "1];\n        int{1}_t aligned;\n    }} arena;\n    for (;;) {{\n",
      name, 8 * program.arena_alignment);
  for (const CPort& port : program.inputs)
    text += fmt::format("        if (!get({0}_{1}, {2}_{3}_COUNT, (int)sizeof {0}_{1}[0])) return 0;\n",
                        port.is_codes ? "floats" : "codes", port.name, name, upper(port.name));
  for (const CPort& port : program.inputs) {
    if (port.is_codes)
      text += fmt::format("        {0}(floats_{1}, codes_{1});\n", end_function(program, "quantize", port), port.name);
  }
  text += fmt::format("        if ({0}_run_showing({1}, &arena, sizeof arena, show, NULL) != {2}_OK) return 1;\n",
                      program.name, call_arguments(program, "codes_{}"), name);
  return {program.name + "_driver.c", text + "    }\n}\n"};
}

}  // namespace halfstep::formats::c
