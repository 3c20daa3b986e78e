#include "halfstep/engine/losses/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/base/random.h"
#include "halfstep/engine/capture/tape.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/losses/errors.h"
#include "halfstep/engine/losses/loss_text.h"
#include "tests/capture/captured.h"
#include "tests/support/error.h"

namespace halfstep::losses {
namespace {

using capture::test::array;
using capture::test::parameter;
using capture::test::values;
using test::diagnostic_of;

std::vector<double> defaults_of(const LossInfo& info) {
  std::vector<double> options;
  for (const Option& option : info.options) options.push_back(option.value);
  return options;
}

Array loss_of(const char* name, Arrays operands, const Reduced& how = {}) {
  const LossInfo& info = require_loss(name);
  return loss(info, std::move(operands), defaults_of(info), how);
}

Array integers(std::vector<int32_t> values, Dims dims) {
  return Array(Tensor::of<int32_t>(DType::i32, std::move(dims), values));
}

TEST(Losses, ReduceToMeanSumOrNothing) {
  const Array a = array({1, 2, 3, 5}, {2, 2}), b = array({0, 0, 1, 1}, {2, 2});
  EXPECT_EQ(values(loss_of("mse", {a, b}))[0], 25.0F / 4);
  EXPECT_EQ(values(loss_of("mse", {a, b}, {.reduction = Reduction::sum}))[0], 25);
  EXPECT_EQ(values(loss_of("mse", {a, b}, {.reduction = Reduction::none})), (std::vector<float>{1, 4, 4, 16}));
}

TEST(Losses, DivideTheMeanByTheWeights) {
  const Array a = array({1, 2, 3, 5}, {2, 2}), b = array({0, 0, 1, 1}, {2, 2});
  const Array rows = array({1, 3}, {2, 1});
  EXPECT_EQ(values(loss_of("mse", {a, b}, {.weight = rows}))[0], (1 + 4 + 3 * 4 + 3 * 16) / 8.0F);
  EXPECT_EQ(values(loss_of("mse", {a, b}, {.weight = array({0, 0}, {2, 1})}))[0], 0);
}

TEST(Losses, LeaveOutIgnoredElements) {
  const Array a = array({1, 2, 3, 5}, {2, 2}), b = array({0, -1, 1, -1}, {2, 2});
  EXPECT_EQ(values(loss_of("mse", {a, b}, {.ignore = -1}))[0], 5.0F / 2);
  EXPECT_EQ(values(loss_of("mse", {a, array({-1, -1, -1, -1}, {2, 2})}, {.ignore = -1}))[0], 0);
  const Array logits = array({0, 0, 0, 0, 9, 0}, {2, 3});
  EXPECT_NEAR(values(loss_of("cross_entropy", {logits, integers({0, 255}, {2})}, {.ignore = 255}))[0], std::log(3),
              1e-6);
}

TEST(Losses, GiveIgnoredElementsNoGradient) {
  Array boxes = parameter({0, 0, 2, 2, 1, 1, 3, 4}, {2, 4});
  const Array target = array({1, 1, 3, 3, -1, -1, -1, -1}, {2, 4});
  capture::backward(loss_of("ciou", {boxes, target}, {.ignore = -1}));
  const std::vector<float> gradient = values(boxes.gradient());
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(gradient[i] != 0, i < 4) << i << ": " << gradient[i];
  Array logits = parameter({1, -1, 2, 0, 0, 0, 1, 1}, {1, 2, 4});
  capture::backward(loss_of("dice", {logits, integers({0, 1, 255, 0}, {1, 4})}, {.ignore = 255}));
  EXPECT_EQ(values(logits.gradient())[2], 0);
  EXPECT_NE(values(logits.gradient())[1], 0);
}

TEST(Losses, TakeTargetsOfTheSameElements) {
  const Array x = array({1, 2}, {2, 1});
  EXPECT_EQ(values(loss_of("l1", {x, integers({1, 0}, {2})}))[0], 1);
  EXPECT_EQ(diagnostic_of([&] {
              loss_of("l1", {x, array({1, 2, 3})});
            }),
            errors::loss_extents_differ("l1", "f32[2, 1]", "f32[3]", "a target for each element of the output"));
  EXPECT_EQ(diagnostic_of([&] {
              loss_of("giou", {x, x});
            }),
            errors::loss_extents_differ("giou", "f32[2, 1]", "f32[2, 1]",
                                        "the corners x1 y1 x2 y2 of boxes along the last axis"));
  EXPECT_EQ(diagnostic_of([&] { loss_of("mse", {x, {}}); }), errors::loss_operand_missing("mse", "target"));
  EXPECT_EQ(diagnostic_of([&] {
              loss_of("triplet_margin", {x, x, x}, {.ignore = 1});
            }),
            errors::loss_ignores_nothing("triplet_margin"));
  EXPECT_EQ(diagnostic_of([&] {
              loss(require_loss("huber"), {x, x}, {-1});
            }).entry->name,
            std::string("number_out_of_range"));
}

/// The probability of a target by the sum over all alignments: one class for each step.
double enumerated(const std::vector<double>& log_probs, size_t steps, size_t classes,
                  const std::vector<int32_t>& target) {
  double total = 0;
  std::vector<size_t> path(steps, 0);
  for (bool more = true; more;) {
    std::vector<int32_t> read;
    double log_sum = 0;
    for (size_t t = 0; t < steps; ++t) {
      log_sum += log_probs[t * classes + path[t]];
      if (path[t] != 0 && (t == 0 || path[t] != path[t - 1])) read.push_back(static_cast<int32_t>(path[t]));
    }
    if (read == target) total += std::exp(log_sum);
    more = false;
    for (size_t t = 0; t < steps && !more; ++t) {
      more = ++path[t] < classes;
      if (!more) path[t] = 0;
    }
  }
  return -std::log(total);
}

TEST(Losses, CtcEqualsTheSumOverAllAlignments) {
  constexpr size_t kSteps = 5, kClasses = 3;
  const std::vector<std::vector<int32_t>> targets = {{1, 2}, {1, 1}, {2, 1, 2}, {}, {2, 2, 1}};
  std::vector<int32_t> padded, lengths;
  std::vector<float> logits;
  std::vector<double> expected;
  Random random(7, 0);
  for (const auto& target : targets) {
    std::vector<double> rows;
    for (size_t t = 0; t < kSteps; ++t) {
      double sum = 0;
      for (size_t c = 0; c < kClasses; ++c) sum += std::exp(double{logits.emplace_back(random.normal())});
      for (size_t c = 0; c < kClasses; ++c)
        rows.push_back(double{logits[logits.size() - kClasses + c]} - std::log(sum));
    }
    expected.push_back(enumerated(rows, kSteps, kClasses, target));
    for (size_t i = 0; i < 3; ++i) padded.push_back(i < target.size() ? target[i] : -1);
    lengths.push_back(static_cast<int32_t>(target.size()));
  }
  const Array x(Tensor::of<float>(DType::f32, {5, kSteps, kClasses}, logits));
  const Reduced how{.reduction = Reduction::none};
  const std::vector<float> found = values(loss_of("ctc", {x, integers(padded, {5, 3}), {}, {}}, how));
  const std::vector<float> with_lengths =
      values(loss_of("ctc", {x, integers(padded, {5, 3}), {}, integers(lengths, {5})}, how));
  double mean = 0;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-5 * std::abs(expected[i])) << "sample " << i;
    EXPECT_EQ(found[i], with_lengths[i]);
    mean += expected[i] / std::max<double>(1, lengths[i]) / 5;
  }
  EXPECT_NEAR(values(loss_of("ctc", {x, integers(padded, {5, 3}), {}, {}}))[0], mean, 1e-5);
}

TEST(Losses, CtcRefusesTargetsThatDoNotFit) {
  const Array x = array({0, 0, 0, 0, 0, 0}, {1, 2, 3});
  const auto refused = [&](std::vector<int32_t> target, const Array& steps) {
    const auto count = static_cast<int64_t>(target.size());
    return diagnostic_of([&] { loss_of("ctc", {x, integers(target, {1, count}), steps, {}}); });
  };
  const auto expect_reason = [](const Diagnostic& found, const Diagnostic& expected) {
    EXPECT_EQ(found.entry, expected.entry);
    EXPECT_EQ(found.found, expected.found);
    EXPECT_EQ(found.expected, expected.expected);
    EXPECT_EQ(found.remedy, expected.remedy);
  };
  expect_reason(refused({1, 1}, {}), errors::ctc_target_too_long(0, 2, 3, 2));
  expect_reason(refused({1, 2}, integers({1}, {1})), errors::ctc_target_too_long(0, 2, 2, 1));
  expect_reason(refused({3}, {}),
                errors::operand_index_out_of_range("label of sample 0", 3, "0 to 2, except the blank 0"));
  expect_reason(refused({1}, integers({3}, {1})),
                errors::operand_index_out_of_range("input length of sample 0", 3, "0 to 2"));
}

}  // namespace
}  // namespace halfstep::losses
