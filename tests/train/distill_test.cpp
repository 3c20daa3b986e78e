// A prepared network that learns from its own float form.
#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/errors.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/train/loop/fit.h"
#include "tests/support/error.h"
#include "tests/train/three_layers.h"

namespace halfstep::train {
namespace {

/// Losses of some epochs.
std::vector<double> losses(const Model& model, const data::Dataset& data, bool distill) {
  const data::Samples all = all_of(data);
  ThreadPool pool(1);
  Model network = model;
  if (quant::is_prepared(network)) calibrate(network, all, {.batch = 96, .batches = 1}, pool);
  FitOptions options;
  options.epochs = 8;
  options.batch = 16;
  options.learning_rate = 0.02;
  options.distill = distill;
  Fit fit(network, all, options, pool);
  std::vector<double> found;
  while (!fit.finished()) found.push_back(fit.run_epoch());
  return found;
}

Model prepared() { return quant::prepare(float_network(), quant::load_platform("generic_int8"), {2, 3, {}}); }

TEST(Distill, ComesNearerToTheFloatForm) {
  const auto found = losses(prepared(), random_samples(false), false);
  EXPECT_GT(found.front(), 0.0);
  EXPECT_LT(found.back(), 0.7 * found.front());
}

TEST(Distill, LeavesLabelsAlone) {
  EXPECT_EQ(losses(prepared(), random_samples(true), true), losses(prepared(), random_samples(false), false));
  EXPECT_NE(losses(prepared(), random_samples(true), false), losses(prepared(), random_samples(false), false));
}

TEST(Distill, IsForPreparedNetworks) {
  for (const bool labelled : {false, true}) {
    EXPECT_EQ(test::diagnostic_of([&] { losses(float_network(), random_samples(labelled), true); }),
              errors::distillation_of_float_network("random"));
  }
}

}  // namespace
}  // namespace halfstep::train
