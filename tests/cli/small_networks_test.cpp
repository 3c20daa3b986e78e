// Extreme networks pass through all verbs.
#include <gtest/gtest.h>

#include "halfstep/core/base/random.h"
#include "halfstep/core/files/npz.h"
#include "tests/cli/program.h"
#include "tests/formats/build.h"

namespace halfstep {
namespace {

using formats::onnx::test::floats;
using formats::onnx::test::ModelText;
using test::Workspace;

std::vector<float> normal(int64_t count, uint64_t seed, float factor = 1) {
  Random random(3, seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) number = factor * random.normal();
  return numbers;
}

class SmallNetworks : public testing::Test {
 protected:
  /// Quantizes net.onnx, trains it, and verifies both.
  void expect_all_verbs(const ModelText& text, const Dims& sample, const std::vector<std::string>& target) {
    test::write_text(workspace / "net.onnx", text.text());
    Dims dims = sample;
    dims.insert(dims.begin(), 32);
    const auto x = normal(count_elements(dims), 9);
    io::write_npz(workspace / "x.npz", {{"x", Tensor::of<float>(DType::f32, dims, x)}});
    std::vector<std::string> quantize = {"quantize", "net.onnx", "--calibrate", "x.npz",
                                         "--out",    "prepared", "--overwrite"};
    quantize.insert(quantize.end(), target.begin(), target.end());
    workspace.expect(0, quantize);
    workspace.expect(0, {"train", "--model", "prepared", "--data", "x.npz", "--epochs", "1", "--batch", "8", "--out",
                         "run", "--overwrite"});
    for (const char* model : {"prepared", "run/model.safetensors"}) {
      workspace.expect(0, {"convert", model, "--out", "integer", "--overwrite"});
      workspace.expect(0, {"verify", model, "integer", "--data", "x.npz"});
    }
  }

  Workspace workspace;
};

/// Importers treat tensors of one element as constants.
TEST_F(SmallNetworks, single_weights_have_learned_scales) {
  ModelText text;
  text.input("x", {-1, 1, 4, 4});
  text.add_tensor(floats("w", {1, 1, 1, 1}, {0.7F}));
  text.add_tensor(floats("b", {1}, {0.1F}));
  text.add_tensor(floats("v", {1, 1, 1, 1}, {-1.3F}));
  text.add("Conv", {"x", "w", "b"}, {"c"});
  text.add("Relu", {"c"}, {"r"});
  text.add("Conv", {"r", "v"}, {"y"});
  text.output("y");
  for (const std::string platform : {"generic_int8", "pow2_int8"})
    expect_all_verbs(
        text, {1, 4, 4},
        {"--platform", platform, "--weight-bits", "4", "--activation-bits", "4", "--first-last-bits", "4"});
}

/// The steps of one summand are 2^-40 of those of the sum, so its codes have no effect on either execution path.
TEST_F(SmallNetworks, sums_have_summands_of_any_scale) {
  ModelText text;
  text.input("x", {-1, 3, 4, 4});
  text.add_tensor(floats("w", {4, 3, 1, 1}, normal(12, 1, 1e6F)));
  text.add_tensor(floats("v", {4, 3, 1, 1}, normal(12, 2, 1e-12F)));
  text.add_tensor(floats("u", {2, 4, 1, 1}, normal(8, 3, 1e-6F)));
  text.add("Conv", {"x", "w"}, {"a"});
  text.add("Conv", {"x", "v"}, {"b"});
  text.add("Add", {"a", "b"}, {"s"});
  text.add("Conv", {"s", "u"}, {"y"});
  text.output("y");
  for (const std::string bits : {"31", "15"})
    expect_all_verbs(text, {3, 4, 4}, {"--platform", "pow2_int8", "--overrides", "requantize.multiplier_bits=" + bits});
}

}  // namespace
}  // namespace halfstep
