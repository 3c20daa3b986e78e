// The form of a network that gradients are taken of.
#include "halfstep/train/loop/joint_graph.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "tests/train/three_layers.h"

namespace halfstep::train {
namespace {

/// A step of `lsq` is on codes. Kinds that learn otherwise have no kernels on codes.
// A2.23
TEST(DifferentiableForm, IsInFloatWhereQuantizersLearnOtherwise) {
  const data::Dataset data = random_samples(false);
  const auto layers_on_codes = [&](const char* kind) {
    Model model = quant::prepare(float_network(),
                                 quant::load_platform("generic_int8", {{"activations.quantizer", kind}}), {4, 4, {}});
    ThreadPool pool(1);
    calibrate(model, all_of(data), {.batch = 96, .batches = 1}, pool);
    return differentiable_form(model, {{"x", {16, 8}}}).graph.all<ops::QuantizedLinear>().size();
  };
  EXPECT_EQ(layers_on_codes("lsq"), 3U);
  EXPECT_EQ(layers_on_codes("pact"), 0U);
}

}  // namespace
}  // namespace halfstep::train
