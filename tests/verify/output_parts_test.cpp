// Parts of outputs, compared with numbers by hand.
#include "halfstep/verify/equivalence/output_parts.h"

#include <gtest/gtest.h>

#include <cmath>

namespace halfstep::verify {
namespace {

/// Two samples of two channels of three elements. The second channel is 1,000 times smaller.
Tensor output(float second) {
  Tensor tensor(DType::f32, {2, 2, 3});
  const auto values = tensor.data<float>();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i / 3 % 2 == 0 ? 100.0F * static_cast<float>(i + 1) : second * static_cast<float>(i + 1);
  return tensor;
}

const OutputPart& of(const std::vector<OutputPart>& parts, int64_t axis, int64_t index) {
  const auto found =
      std::ranges::find_if(parts, [&](const OutputPart& part) { return part.axis == axis && part.index == index; });
  EXPECT_NE(found, parts.end()) << axis << " " << index;
  return *found;
}

TEST(OutputParts, AreThoseByHand) {
  const Tensor wanted = output(0.1F), found = output(0);
  OutputParts parts;
  parts.add("y", wanted, found);
  const auto all = parts.parts();
  EXPECT_EQ(all.size(), 1U + 2U + 3U) << "all, two channels, three places";
  double signal = 0, noise = 0;
  for (size_t i = 0; i < 12; ++i) {
    const double value = static_cast<double>(wanted.data<float>()[i]);
    signal += value * value;
    noise += i / 3 % 2 == 0 ? 0 : value * value;
  }
  EXPECT_DOUBLE_EQ(of(all, -1, 0).sums.sqnr_db(), 10 * std::log10(signal / noise));
  EXPECT_GT(of(all, -1, 0).sums.cosine(), 0.99999) << "which hides a channel that is lost";
  EXPECT_TRUE(std::isinf(of(all, 1, 0).sums.sqnr_db()));
  EXPECT_EQ(of(all, 1, 1).sums.sqnr_db(), 0);
  EXPECT_EQ(worst_of(all)->axis, 1);
  EXPECT_EQ(worst_of(all)->index, 1);
  EXPECT_EQ(name_of(*worst_of(all)), "output 'y' at index 1 of axis 1");
}

TEST(OutputParts, BatchesAndOutputsAddUp) {
  OutputParts whole, halves;
  const Tensor wanted = output(0.1F), found = output(0.09F);
  whole.add("y", wanted, found);
  for (int64_t sample = 0; sample < 2; ++sample)
    halves.add("y", wanted.rows(sample, sample + 1), found.rows(sample, sample + 1));
  const auto a = whole.parts(), b = halves.parts();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].sums.noise, b[i].sums.noise) << i;
  whole.add("z", output(1), output(1));
  EXPECT_EQ(whole.parts().size(), 2 * a.size());
}

/// A part that is 0 throughout has no SQNR. A part that is not f32 or has other extents is not compared.
TEST(OutputParts, WhatSaysNothingIsLeftOut) {
  OutputParts parts;
  parts.add("y", output(0), output(0.1F));
  EXPECT_EQ(parts.parts().size(), 1U + 1U + 3U);
  OutputParts others;
  others.add("labels", Tensor(DType::i64, {3}), Tensor(DType::i64, {3}));
  others.add("y", Tensor(DType::f32, {3}), Tensor(DType::f32, {2}));
  others.add("none", Tensor(DType::f32, {0, 4}), Tensor(DType::f32, {0, 4}));
  EXPECT_TRUE(others.parts().empty());
  EXPECT_EQ(worst_of(others.parts()), nullptr);
}

}  // namespace
}  // namespace halfstep::verify
