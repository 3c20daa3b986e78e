// Iterations from the last to the first: the states that they read, and how many states are in memory at once.
#include "halfstep/engine/runtime/backward.h"

#include <fmt/format.h>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/scalars.h"

namespace halfstep::runtime {
namespace {

using test::number;
using test::truth;

/// Numbers as states, with a count of those in memory.
class Counted {
 public:
  Tensor make(int64_t value) {
    most_ = std::max(most_, ++now_);
    const std::shared_ptr<std::byte> memory(reinterpret_cast<std::byte*>(new int64_t(value)), [this](std::byte* at) {
      delete reinterpret_cast<int64_t*>(at);
      --now_;
    });
    return Tensor::over(memory, {DType::i64, {}});
  }
  int64_t most() const { return most_; }
  int64_t now() const { return now_; }

 private:
  int64_t now_ = 0, most_ = 0;
};

int64_t value_of(const Tensor& tensor) { return tensor.data<int64_t>()[0]; }

/// A backward with one state and one carried value.
FlowSpec counting() {
  FlowSpec spec;
  spec.kind = FlowSpec::Kind::backward;
  spec.states = spec.carried = 1;
  return spec;
}

struct TrainingHistory {
  int64_t most = 0, steps = 0;
  Iterated made;
};

/// A loop or a scan of `count` iterations. Its state counts them, and its carried value is the last iteration
/// processed. Each iteration returns its number as a row.
TrainingHistory go_back(int64_t count, bool is_loop) {
  Counted counted;
  TrainingHistory history;
  FlowSpec spec = counting();
  spec.scanned = is_loop ? 0 : 1;
  spec.rows = 1;
  const RunRegion run = [&](size_t region, int64_t iteration, const std::vector<Tensor>& in) {
    EXPECT_EQ(value_of(in[0]), iteration);
    if (!is_loop) {
      EXPECT_EQ(value_of(in[1]), 10 * iteration);
    }
    if (region == 0) {
      ++history.steps;
      std::vector<Tensor> given = {counted.make(iteration + 1)};
      if (is_loop) given.insert(given.begin(), truth(iteration + 1 < count));
      return given;
    }
    const size_t carried = is_loop ? 1 : 2;
    EXPECT_EQ(value_of(in[carried]), iteration + 1);
    EXPECT_EQ(value_of(in[carried + 1]), 10 * iteration);
    return std::vector<Tensor>{number(iteration), number(iteration)};
  };
  Tensor tens(DType::i64, {count});
  for (int64_t i = 0; i < count; ++i) tens.data<int64_t>()[static_cast<size_t>(i)] = 10 * i;
  std::vector<Tensor> operands = {is_loop ? truth(count > 0) : Tensor(), counted.make(0)};
  if (!is_loop) operands.push_back(tens);
  operands.push_back(number(count));
  operands.push_back(tens);
  history.made = run_backward(spec, operands, 2, run);
  history.most = counted.most();
  return history;
}

TEST(Backward, GoesThroughAllIterationsInMemoryOfTheRootOfTheirNumber) {
  for (int64_t count = 0; count <= 1100; ++count) {
    for (const bool is_loop : {false, true}) {
      const TrainingHistory history = go_back(count, is_loop);
      EXPECT_EQ(value_of(history.made.last.at(0)), 0);
      ASSERT_EQ(history.made.rows.at(0).size(), static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) EXPECT_EQ(value_of(history.made.rows[0][static_cast<size_t>(i)]), i);
      EXPECT_LE(static_cast<double>(history.most), std::max(40.0, 2.2 * std::sqrt(static_cast<double>(count))))
          << count;
      EXPECT_LE(history.steps, 2 * count);
    }
  }
  EXPECT_LE(go_back(1000, true).most, 64);
  EXPECT_LE(static_cast<double>(go_back(100'000, true).most), 2.2 * std::sqrt(100'000.0));
}

TEST(Backward, WithoutIterationsNothingChanges) {
  const FlowSpec spec = counting();
  const Iterated made = run_backward(spec, {truth(false), number(3), number(7)}, 1,
                                     [](size_t, int64_t, const std::vector<Tensor>&) -> std::vector<Tensor> {
                                       fail(errors::record_wrong(fmt::format("an iteration was run, expected none")));
                                     });
  EXPECT_EQ(value_of(made.last.at(0)), 7);
}

TEST(Backward, EndsAfterAtMostSoManyIterations) {
  FlowSpec spec = counting();
  spec.at_most = 5;
  const Iterated made =
      run_backward(spec, {truth(true), number(0), number(0)}, 1,
                   [](size_t region, int64_t iteration, const std::vector<Tensor>& in) -> std::vector<Tensor> {
                     if (region == 0) return {truth(true), number(iteration + 1)};
                     return {number(value_of(in[1]) + iteration)};
                   });
  EXPECT_EQ(value_of(made.last.at(0)), 0 + 1 + 2 + 3 + 4);
}

}  // namespace
}  // namespace halfstep::runtime
