// A whole batch against the source model: indices that differ, and samples that depend on their batch.
#include "halfstep/verify/equivalence/whole_network.h"

#include <gtest/gtest.h>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"

namespace halfstep::verify {
namespace {

/// Row `place` of each of n samples, whose rows lie one after the other. `step` is the number of rows per sample.
Model rows(int64_t step, int64_t place, const std::string& more = "") {
  Model model;
  model.graph = parse(
      "graph g(x: f32[?, 8, 4]) {\n  const @place: i64[1]\n  f = reshape(x) {dims: [-1, 4]}\n"
      "  i = positions(x) {step: " +
          std::to_string(step) + "}\n  j = add(a=i, b=@place)\n  r = gather(x=f, indices=j)\n" + more + "  y = abs(" +
          (more.empty() ? "r" : "m") + ")\n  return y\n}\n",
      "rows.ir");
  model.tensors["place"] = Tensor::of<int64_t>(DType::i64, {1}, {&place, 1});
  return model;
}

Tensors samples(int64_t begin, int64_t count) {
  Tensor x(DType::f32, {count, 8, 4});
  for (int64_t i = 0; i < count; ++i) {
    Random random(static_cast<uint64_t>(begin + i), 0);
    for (int64_t k = 0; k < 32; ++k)
      x.data<float>()[static_cast<size_t>(i * 32 + k)] = static_cast<float>(random.uniform()) - 0.5F;
  }
  return {{"x", x}};
}

WholeNetwork check(const Model& source, const Model& integer) {
  ThreadPool pool(1);
  return check_whole_network(source, integer, samples, 6, pool);
}

TEST(WholeNetwork, TheSameHolds) {
  const WholeNetwork found = check(rows(8, 2), rows(8, 2));
  EXPECT_TRUE(found.holds());
  EXPECT_EQ(found.integers, 12);
  EXPECT_EQ(found.batch, 6);
}

// A12.9, A12.10
TEST(WholeNetwork, RowsOfOtherSamplesAreFound) {
  const WholeNetwork found = check(rows(8, 2), rows(7, 2));
  EXPECT_EQ(found.differing, 10);  // elements of i and j, in all samples but the first
  ASSERT_TRUE(found.index);
  EXPECT_EQ(found.index->value, "i");
  EXPECT_EQ(found.index->index, 1);
  EXPECT_EQ(found.index->expected, 8);
  EXPECT_EQ(found.index->found, 7);
  EXPECT_EQ(found.moved, 5);
  ASSERT_TRUE(found.sample);
  EXPECT_EQ(found.sample->sample, 1);
}

/// Run alone, a sample reads the wrong row too: only the index shows it.
// A12.9
TEST(WholeNetwork, RowsOfTheSameSampleAreFound) {
  const WholeNetwork found = check(rows(8, 2), rows(8, 3));
  EXPECT_EQ(found.differing, 6);
  EXPECT_EQ(found.moved, 0);
  EXPECT_FALSE(found.holds());
}

/// Where the source model mixes samples, other samples may change the result of one sample.
// A12.10
TEST(WholeNetwork, MixedSamplesAreNoFault) {
  const std::string mixes = "  t = reduce_sum(r) {axes: [0], keep_dims: true}\n  m = sub(a=r, b=t)\n";
  EXPECT_TRUE(check(rows(8, 2, mixes), rows(8, 2, mixes)).holds());
  const std::string noise = "  t = reduce_sum(r) {axes: [0], keep_dims: true}\n  m = add(a=r, b=t)\n";
  const WholeNetwork found = check(rows(8, 2), rows(8, 2, noise));
  EXPECT_EQ(found.differing, 0);
  EXPECT_EQ(found.moved, 6);
}

}  // namespace
}  // namespace halfstep::verify
