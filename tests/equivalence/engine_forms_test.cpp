// Layers of PyTorch's engines in the integer program: the golden ones, and random ones with ties. The random ones are
// compared with the operators that carry PyTorch's names.
#include <fmt/format.h>

#include <gtest/gtest.h>

#include "halfstep/verify/operators/golden_file.h"
#include "tests/kernels/layer_cases.h"
#include "tests/support/files.h"

namespace halfstep::kernels {
namespace {

template <class T>
const T& named(const std::vector<std::pair<std::string, T>>& all, const std::string& name) {
  for (const auto& [key, value] : all) {
    if (key == name) return value;
  }
  fail(errors::record_wrong(fmt::format("the case has no '{}'", name)));
}

double number(const verify::GoldenCase& golden, const std::string& name) {
  const Attribute& value = named(golden.attributes, name);
  const auto* whole = std::get_if<int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

/// Form of the layer in the integer program, or "" when it has none. Engine onednn runs x86's convolutions.
std::string form_of(const verify::GoldenCase& golden) {
  const bool conv = golden.op == "quantized.conv2d";
  if (!conv && golden.op != "quantized.linear") return "";
  const auto& engine = std::get<std::string>(named(golden.attributes, "engine"));
  if (engine == "fbgemm" || engine == "x86") return engine;
  return engine == "onednn" && conv ? "x86" : "";
}

Tensor contents(const verify::GoldenCase& golden, const std::string& port) { return named(golden.in, port).at(0); }

/// Layers of the program always have a bias.
Tensor bias_of(const verify::GoldenCase& golden) {
  for (const auto& [port, tensors] : golden.in) {
    if (port == "bias" && !tensors.empty()) return tensors[0];
  }
  return Tensor(DType::f32, {contents(golden, "weight_codes").dims()[0]});
}

KernelCase integer_case(const verify::GoldenCase& golden, const std::string& form) {
  KernelCase use;
  const bool conv = golden.op == "quantized.conv2d";
  use.op = conv ? "integer_conv2d" : "integer_linear";
  use.attributes = {{"requantize", form},
                    {"code_type", std::string("u8")},
                    {"shift_rounding", std::string("half_up")},
                    {"code_min", int64_t{0}},
                    {"code_max", int64_t{255}},
                    {"x_scale", number(golden, "x_scale")},
                    {"y_scale", number(golden, "y_scale")},
                    {"x_zero_point", static_cast<int64_t>(number(golden, "x_zero_point"))},
                    {"y_zero_point", static_cast<int64_t>(number(golden, "y_zero_point"))}};
  if (conv) {
    const auto stride = static_cast<int64_t>(number(golden, "stride"));
    const auto pad = static_cast<int64_t>(number(golden, "padding"));
    use.attributes["groups"] = static_cast<int64_t>(number(golden, "groups"));
    use.attributes["stride"] = std::vector<int64_t>{stride, stride};
    use.attributes["dilation"] = std::vector<int64_t>{1, 1};
    use.attributes["pad"] = std::vector<int64_t>(4, pad);
    use.attributes["layout"] = std::string("channels_first");
  }
  const Tensor w_scale = contents(golden, "weight_scale");
  use.in = {contents(golden, "x_codes"),       contents(golden, "weight_codes"), bias_of(golden), {}, {}, {}, {},
            w_scale.reshaped({w_scale.size()})};
  use.out = {named(golden.out, "y_codes").type()};
  return use;
}

/// Checks the golden layers of the file and returns their number.
int expect_golden_layers(const std::filesystem::path& file) {
  int layers = 0;
  for (const verify::GoldenCase& golden : verify::read_golden(file)) {
    const std::string form = form_of(golden);
    if (form.empty()) continue;
    ++layers;
    const KernelCase use = integer_case(golden, form);
    const Kernel& kernel = use.op == "integer_linear" ? reference_integer_linear : reference_integer_conv2d;
    EXPECT_TRUE(same_bits(named(golden.out, "y_codes"), run_kernel(kernel, use, CpuLevel::scalar)[0])) << golden.id;
  }
  return layers;
}

// A10.11
TEST(EngineForms, GoldenLayersAreTheirs) {
  EXPECT_EQ(expect_golden_layers(std::filesystem::path(HALFSTEP_SOURCE_DIR) / "tests/golden/torch.json"), 10);
  const auto whole = std::filesystem::path(HALFSTEP_TEST_DATA) / "golden/torch.json";
  if (!std::filesystem::exists(whole)) GTEST_SKIP() << "no golden files in " HALFSTEP_TEST_DATA;
  EXPECT_EQ(expect_golden_layers(whole), 20);
}

/// torch_quantized_conv2d or torch_quantized_linear on the operands of the layer.
KernelCase original(const LayerCase& layer) {
  const LayerShape& shape = layer.shape;
  KernelCase use;
  use.op = shape.linear ? "torch_quantized_linear" : "torch_quantized_conv2d";
  use.attributes = {{"engine", layer.rule.requantize},
                    {"x_scale", static_cast<double>(layer.x_scale)},
                    {"y_scale", static_cast<double>(layer.y_scale)},
                    {"x_zero_point", int64_t{layer.rule.x_zero_point}},
                    {"y_zero_point", int64_t{layer.rule.y_zero_point}},
                    {"w_zero_point", int64_t{0}}};
  if (!shape.linear) {
    use.attributes["groups"] = shape.groups;
    use.attributes["stride"] = shape.stride;
    use.attributes["dilation"] = shape.dilation;
    use.attributes["padding"] = std::vector<int64_t>{shape.pad[0], shape.pad[1]};
  }
  use.in = {layer.x, layer.w, LayerCase::floats(layer.w_scales()),
            layer.rule.bias ? LayerCase::floats(layer.b) : Tensor()};
  use.out = {layer.out_type()};
  return use;
}

// A10.11, A10.12
TEST(EngineForms, RandomLayersAreTheOriginals) {
  const std::vector<LayerShape> shapes = {
      {.n = 2, .c = 8, .h = 9, .w = 7, .o = 16, .kh = 3, .kw = 3, .groups = 2, .pad = {1, 0, 1, 0}},
      {.n = 1, .c = 32, .h = 8, .w = 8, .o = 32, .kh = 3, .kw = 3, .groups = 32, .pad = {1, 1, 1, 1}},
      {.n = 1, .c = 101, .h = 6, .w = 6, .o = 101, .kh = 3, .kw = 3, .groups = 101, .pad = {1, 1, 1, 1}},
      {.n = 1, .c = 1, .h = 9, .w = 9, .o = 1, .kh = 3, .kw = 3},
      {.linear = true, .n = 37, .c = 64, .o = 10}};
  for (const LayerShape& shape : shapes) {
    for (const std::string form : {"fbgemm", "x86"}) {
      for (const Fill fill : {Fill::random, Fill::ties}) {
        for (const bool bias : {false, true}) {
          SCOPED_TRACE(shape.text() + " " + form);
          const LayerCase layer(shape, {.requantize = form, .bias = bias, .y_zero_point = 101, .fill = fill});
          const KernelCase theirs = original(layer), ours = layer.integer();
          const Kernel& torch = shape.linear ? reference_torch_quantized_linear : reference_torch_quantized_conv2d;
          const Kernel& integer = shape.linear ? reference_integer_linear : reference_integer_conv2d;
          EXPECT_TRUE(same_bits(run_kernel(torch, theirs, CpuLevel::scalar)[0],
                                run_kernel(integer, ours, CpuLevel::scalar)[0]));
        }
      }
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
