// Order, phases, errors and threads.
#include "halfstep/engine/runtime/interpreter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/base/random.h"
#include "tests/runtime/toy.h"

namespace halfstep {
namespace {

using toy::f32;
using toy::filled;
using toy::kSim;

constexpr int64_t kPieces = 64;

/// Phase 0: piece p puts its square into scratch. Phase 1: nothing. Phase 2: one piece adds them up. Phase 3: pieces
/// fill the output.
Status run_phases(const kernels::Call& call, int phase, int64_t piece) {
  auto* squares = reinterpret_cast<float*>(call.scratch);
  const auto x = call.in[0].as<const float>()[0];
  if (phase == 0) {
    auto* own = reinterpret_cast<float*>(call.worker_scratch);
    *own = static_cast<float>(piece) * x;
    squares[piece] = *own * *own;
  } else if (phase == 2) {
    for (int64_t i = 1; i < kPieces; ++i) squares[0] += squares[i];
  } else if (phase == 3) {
    call.out[0].as<float>()[piece] = squares[0] + static_cast<float>(piece);
  }
  return {};
}
constexpr kernels::Kernel kPhases{"toy", toy::accept_all, toy::one_piece, run_phases};

kernels::Plan plan_of_phases() { return {nullptr, kPieces * sizeof(float), sizeof(float), {kPieces, 0, 1, kPieces}}; }

float sum_of_squares() {
  float sum = 0;
  for (int64_t i = 0; i < kPieces; ++i) sum += static_cast<float>(i * i);
  return sum;
}

class Threads : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, Threads, testing::Values(1, 2, 3, 8), testing::PrintToStringParamName());

TEST_P(Threads, PhasesRunInOrder) {
  ThreadPool pool(GetParam());
  for (const Place place : {toy::kCpu, kSim}) {
    toy::Builder builder;
    const int x = builder.input("x", f32({1}), place);
    std::vector<int> sums;
    for (int i = 0; i < 4; ++i) {
      const std::string name = fmt::format("sum{}", i);
      builder.op(&kPhases, name, {x}, {builder.arena(name, f32({kPieces}), place)}, plan_of_phases());
      builder.output(name, static_cast<int>(builder.spec().slots.size()) - 1);
    }
    auto program = builder.build();
    for (int step = 0; step < 50; ++step) {
      const auto outputs = program.run({{"x", filled({1}, 1)}}, pool);
      for (const auto& [name, tensor] : outputs) {
        for (int64_t i = 0; i < kPieces; ++i)
          ASSERT_EQ(tensor.data<float>()[static_cast<size_t>(i)], sum_of_squares() + static_cast<float>(i));
      }
    }
  }
}

TEST_P(Threads, PoolsOfAnySizeRunTheSameProgram) {
  toy::Builder builder;
  const int x = builder.input("x", f32({1}));
  builder.op(&kPhases, "sum", {x}, {builder.result("sum", f32({kPieces}))}, plan_of_phases());
  auto program = builder.build();
  for (const int threads : {GetParam(), 1, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(program.run({{"x", filled({1}, 1)}}, pool).at("sum").data<float>()[1], sum_of_squares() + 1);
  }
}

/// out = 1 + the largest input, in whatever order its dependencies are ready.
Status depth(const kernels::Call& call, int, int64_t) {
  float most = 0;
  for (const kernels::ConstView& in : call.in) most = std::max(most, in.as<const float>()[0]);
  call.out[0].as<float>()[0] = most + 1;
  return {};
}
constexpr kernels::Kernel kDepth{"toy", toy::accept_all, toy::one_piece, depth};

/// Short tasks stay with the thread that makes them ready.
TEST_P(Threads, RandomGraphsKeepDependencies) {
  ThreadPool pool(GetParam());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed, 0);
    const uint64_t kinds = seed % 4;  // all tasks are long, all are short, or a half or a third is short
    toy::Builder builder;
    std::vector<int> slots = {builder.input("x", f32({1}))};
    std::vector<float> expected = {0};
    for (int i = 0; i < 200; ++i) {
      std::vector<int> in;
      float most = 0;
      for (uint64_t n = 0, count = 1 + random.below(3); n < count; ++n) {
        const uint64_t back = std::min<uint64_t>(slots.size(), 1 + random.below(20));
        in.push_back(slots[slots.size() - back]);
        most = std::max(most, expected[slots.size() - back]);
      }
      slots.push_back(builder.arena(fmt::format("v{}", i), f32({1})));
      expected.push_back(most + 1);
      const bool is_short = kinds > 0 && random.below(kinds) == 0;
      builder.op(&kDepth, fmt::format("v{}", i), in, {slots.back()}, {}, is_short ? 1 : toy::Builder::kLong);
      builder.output(fmt::format("v{}", i), slots.back());
    }
    auto program = builder.build();
    for (int step = 0; step < 10; ++step) {
      const auto outputs = program.run({{"x", filled({1}, 0)}}, pool);
      for (int i = 0; i < 200; ++i)
        ASSERT_EQ(outputs.at(fmt::format("v{}", i)).data<float>()[0], expected[static_cast<size_t>(i) + 1]);
    }
  }
}

Status fail_late_pieces(const kernels::Call&, int phase, int64_t piece) {
  return phase == 1 && piece >= 5 ? Status(toy::broken_at(piece)) : Status();
}
constexpr kernels::Kernel kFailLate{"toy", toy::accept_all, toy::one_piece, fail_late_pieces};

/// x -> good (0) -> broken (1) -> reader (2) -> reader's reader (3). x -> late (4) fails too. counter (5) and waiting
/// (6) are independent.
runtime::Program failing() {
  toy::Builder builder("net");
  const int x = builder.input("x", f32({4}));
  const int good = builder.arena("good", f32({4}));
  const int broken = builder.arena("broken", f32({4}), kSim);
  const int good_on_sim = builder.arena("good:sim", f32({4}), kSim);
  const int reader = builder.arena("reader", f32({4}), kSim);
  const int state = builder.tensor("count", filled({4}, 0));
  builder.op(&toy::kAddOne, "good", {x}, {good});
  builder.copy("good", good, good_on_sim);
  const int first = builder.op(&kFailLate, "broken", {good_on_sim, -1}, {broken}, {nullptr, 0, 0, {2, 9, 2}});
  builder.op(&toy::kAddOne, "reader", {broken}, {reader});
  builder.op(&toy::kAddOne, "last", {reader}, {builder.arena("last", f32({4}), kSim)});
  builder.op(&toy::kFail, "late", {x}, {builder.arena("late", f32({4}))});
  const int counter = builder.op(&toy::kAddOne, "count", {state}, {builder.view_of_tensor("count.out", 0)});
  builder.order(first, counter);  // waits for the failed instruction, but reads no value of it
  return builder.build();
}

TEST_P(Threads, FirstErrorIsReportedAndTheRestFinishes) {
  ThreadPool pool(GetParam());
  auto program = failing();
  for (int step = 1; step <= 30; ++step) {
    try {
      program.run({{"x", filled({4}, 0)}}, pool);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      Diagnostic expected = toy::broken_at(5);
      expected.where =
          "toy.ir:4: node 'broken': toy_op (kernel toy on sim; x0 = 'good:sim' f32[4] on sim, 16 bytes at 64 in the "
          "arena; out = 'broken' f32[4] on sim, 16 bytes at 0 in the arena; 1 instruction failed after it; "
          "2 instructions skipped): " +
          expected.where;
      EXPECT_EQ(error.diagnostics(), std::vector{expected});
    }
    EXPECT_TRUE(program.tensor("count").same_bits(filled({4}, static_cast<float>(step))));
  }
}

TEST_P(Threads, TracesEveryInstruction) {
  ThreadPool pool(GetParam());
  toy::Builder builder;
  const int x = builder.input("x", f32({4}));
  const int a = builder.arena("a", f32({4}));
  builder.op(&toy::kAddOne, "a", {x}, {a});
  builder.op(&toy::kAddOne, "b", {a}, {builder.result("b", f32({4}))});
  auto program = builder.build();
  runtime::Trace trace;
  program.run({{"x", filled({4}, 0)}}, pool, &trace);
  ASSERT_EQ(trace.timings.size(), 2U);
  EXPECT_LE(0, trace.timings[0].begin);
  EXPECT_LE(trace.timings[0].begin, trace.timings[0].end);
  EXPECT_LE(trace.timings[0].end, trace.timings[1].begin);
  EXPECT_LE(trace.timings[1].begin, trace.timings[1].end);
}

/// A program of short tasks wakes no other thread.
TEST_P(Threads, ShortTasksStayWithTheCaller) {
  ThreadPool pool(GetParam());
  toy::Builder builder;
  int last = builder.input("x", f32({4}));
  for (int i = 0; i < 40; ++i) {
    const int next = builder.arena(fmt::format("v{}", i), f32({4}));
    builder.op(&toy::kAddOne, fmt::format("v{}", i), {i % 3 == 0 ? 0 : last}, {next}, {}, 4);
    last = next;
  }
  builder.output("y", last);
  auto program = builder.build();
  runtime::Trace trace;
  program.run({{"x", filled({4}, 0)}}, pool, &trace);
  ASSERT_EQ(trace.timings.size(), 40U);
  for (const auto& timing : trace.timings) EXPECT_EQ(timing.worker, 0);
}

TEST_P(Threads, EmptyProgramReturns) {
  ThreadPool pool(GetParam());
  toy::Builder builder;
  builder.output("x", builder.input("x", f32({4})));
  EXPECT_TRUE(builder.build().run({{"x", filled({4}, 7)}}, pool).at("x").same_bits(filled({4}, 7)));
}

TEST_P(Threads, SleepersWakeForNewWork) {
  ThreadPool pool(GetParam());
  toy::Builder builder;
  int value = builder.input("x", f32({1}));
  for (int i = 0; i < 300; ++i) {  // long single pieces put the other threads to sleep, wide instructions wake them
    const bool wide = i % 3 == 2;
    const int next = builder.arena(fmt::format("v{}", i), f32({kPieces}));
    builder.op(wide ? &kPhases : &kDepth, fmt::format("v{}", i), {value}, {next},
               wide ? plan_of_phases() : kernels::Plan{});
    value = next;
  }
  builder.output("last", value);
  auto program = builder.build();
  const float expected = program.run({{"x", filled({1}, 0)}}, pool).at("last").data<float>()[0];
  for (int step = 0; step < 20; ++step) {
    const float found = program.run({{"x", filled({1}, 0)}}, pool).at("last").data<float>()[0];
    ASSERT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected)));
  }
}

}  // namespace
}  // namespace halfstep
