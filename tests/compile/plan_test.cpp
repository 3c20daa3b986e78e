// Shared memory changes no result, in any order of execution.
#include "halfstep/engine/compile/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/dependencies.h"
#include "tests/compile/support.h"

namespace halfstep {
namespace {

using namespace testing_compile;

/// Sums, products, concats and functions of reshaped values. Operands are recent or old values.
Model random_model(uint64_t seed, int operations = 60) {
  Model model{Graph("random"), {}, {}, {}};
  Builder builder(model.graph);
  Random random(seed, 3);
  std::vector<Value> values;
  for (int i = 0; i < 3; ++i)
    values.push_back(model.graph.add_argument(fmt::format("x{}", i), {DType::f32, {1 + i, 5}}));
  const auto pick = [&] { return values[values.size() - 1 - random.below(std::min<uint64_t>(values.size(), 8))]; };
  const Value scale = model.graph.add_argument("scale", {DType::f32, {1}});
  const Value zero_point = model.graph.add_argument("zero_point", {DType::i32, {1}});
  const auto pick_like = [&](Value one) {
    const Value other = pick();
    return other.dims() == one.dims() ? other : one;
  };
  for (int i = 0; i < operations; ++i) {
    const std::string name = fmt::format("v{}", i);
    const Value a = pick(), b = pick();
    if (i % 5 == 4) {
      const Value turned = ops::reshape(builder, {.x = a, .dims = {5, a.dims()[0]}, .name = name + ".turned"}).out();
      const Value bent = ops::relu(builder, {.x = turned, .name = name + ".bent"}).out();
      values.push_back(ops::reshape(builder, {.x = bent, .dims = a.dims(), .name = name}).out());
    } else if (i % 7 == 3) {  // operators that may write over their operand
      const Value codes = ops::cast(builder, {.x = pick_like(a), .to = "i32", .name = name + ".codes"}).out();
      values.push_back(ops::clamp_grad(builder, {.out_grad = a,
                                                 .unclamped = codes,
                                                 .real = pick_like(a),
                                                 .y_scale = scale,
                                                 .y_zero_point = zero_point,
                                                 .code_max = 1,
                                                 .gradient_scale = i % 2 == 0 ? 0.0 : 1.0,
                                                 .name = name})
                           .value_grad());
    } else if (a.dims() == b.dims()) {
      values.push_back(i % 2 == 0 ? ops::add(builder, {.a = a, .b = b, .name = name}).out()
                                  : ops::mul(builder, {.a = a, .b = b, .name = name}).out());
    } else if (a.dims()[0] + b.dims()[0] < 200) {
      values.push_back(ops::concat(builder, {.x = {a, b}, .axis = 0, .name = name}).out());
    } else {
      values.push_back(ops::relu(builder, {.x = a, .name = name}).out());
    }
  }
  model.graph.set_outputs({values.back(), values[values.size() - 20], values[values.size() - 5]});
  return model;
}

TEST(Plan, ReuseChangesNoResult) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Model model = random_model(seed);
    const auto inputs = inputs_of(model);
    CompileOptions alone;
    alone.disabled_passes = {"reuse_memory"};
    ThreadPool one(1), many(4);
    auto without = compile(model, alone);
    const auto expected = without.run(inputs, one);
    EXPECT_EQ(without.memory().planned, without.memory().naive);
    for (const Place place : {kCpu, kSim}) {
      CompileOptions options;
      options.place = place;
      auto program = compile(model, options);
      EXPECT_LT(program.memory().planned, program.memory().naive);
      for (int step = 0; step < 15; ++step) {
        const auto found = program.run(inputs, step == 0 ? one : many);
        for (const auto& [name, tensor] : expected)
          ASSERT_TRUE(found.at(name).same_bits(tensor)) << seed << " " << name;
      }
    }
  }
}

/// Longer than the window in which redundant order dependencies are recognized.
TEST(Plan, ReuseChangesNoResultOfALongProgram) {
  const Model model = random_model(20, 3000);
  const auto inputs = inputs_of(model);
  CompileOptions alone;
  alone.disabled_passes = {"reuse_memory"};
  ThreadPool one(1), many(4);
  const auto expected = compile(model, alone).run(inputs, one);
  auto program = compile(model, {});
  EXPECT_GT(program.spec().instructions.size(), 2048U);
  for (int step = 0; step < 5; ++step) {
    for (const auto& [name, tensor] : program.run(inputs, many))
      ASSERT_TRUE(expected.at(name).same_bits(tensor)) << name;
  }
}

/// A chain needs few dependencies per instruction, whatever its length.
TEST(Plan, DependenciesOfAChainAreFew) {
  for (const int length : {1000, 4000}) {
    Model model{Graph("chain"), {}, {}, {}};
    Builder builder(model.graph);
    Value value = model.graph.add_argument("x", {DType::f32, {1, 8}});
    for (int i = 0; i < length; ++i) {
      const std::string name = fmt::format("v{}", i);
      value = i % 2 == 0 ? ops::neg(builder, {.x = value, .name = name}).out()
                         : ops::sigmoid(builder, {.x = value, .name = name}).out();
    }
    model.graph.set_outputs({value});
    const auto program = compile(model, {});
    EXPECT_LE(program.memory().planned, 4U * 64);
    for (const auto& instruction : program.spec().instructions) EXPECT_LE(instruction.order_dependencies.size(), 1U);
  }
}

/// Dependencies separate every pair of values with common memory: all users of the first come before the writer of the
/// second.
TEST(Plan, DependenciesKeepSharersApart) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const auto program = compile(random_model(seed), {});
    const auto& spec = program.spec();
    const size_t count = spec.instructions.size();
    std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
    for (size_t i = 0; i < count; ++i) {
      const auto include = [&](const std::vector<int>& list) {
        for (const int j : list) {
          before[i][static_cast<size_t>(j)] = true;
          for (size_t k = 0; k < count; ++k) before[i][k] = before[i][k] || before[static_cast<size_t>(j)][k];
        }
      };
      include(spec.instructions[i].data_dependencies);
      include(spec.instructions[i].order_dependencies);
    }
    const auto uses = [&](size_t instruction, size_t slot) {
      const auto& what = spec.instructions[instruction];
      const auto is = [&](const runtime::Operand& operand) { return operand.slot == static_cast<int>(slot); };
      return std::ranges::any_of(what.in, is) || std::ranges::any_of(what.out, is);
    };
    std::vector<int> lies_with(spec.slots.size());  // index of the slot that owns the bytes
    std::iota(lies_with.begin(), lies_with.end(), 0);
    const auto overwrites = [&](size_t instruction, size_t slot) {
      const auto& what = spec.instructions[instruction];
      return what.plan.in_place == kernels::InPlace::overwrite &&
             lies_with[static_cast<size_t>(what.in[0].slot)] == lies_with[slot];
    };
    for (const auto& instruction : spec.instructions) {
      const int from = instruction.plan.in_place == kernels::InPlace::copy ? instruction.in[0].slot : -1;
      if (from >= 0 && spec.slots[from].storage == runtime::Storage::arena)
        lies_with[static_cast<size_t>(instruction.out[0].slot)] = lies_with[static_cast<size_t>(from)];
    }
    for (size_t a = 0; a < spec.slots.size(); ++a) {
      for (size_t b = 0; b < spec.slots.size(); ++b) {
        const auto &first = spec.slots[a], &second = spec.slots[b];
        if (lies_with[a] == lies_with[b] || first.storage != runtime::Storage::arena ||
            second.storage != runtime::Storage::arena)
          continue;
        if (first.offset + first.bytes() <= second.offset || second.offset + second.bytes() <= first.offset) continue;
        ASSERT_NE(first.first, second.first);
        if (first.first > second.first) continue;
        for (size_t i = 0; i < count; ++i)
          EXPECT_TRUE(!uses(i, a) || before[static_cast<size_t>(second.first)][i] ||
                      (static_cast<int>(i) == second.first && overwrites(i, a)))
              << seed << " " << first.name << " " << second.name;
      }
    }
  }
}

TEST(Plan, AReshapeLiesWhereItsOperandLies) {
  const auto program =
      compile(model_of("graph g(x: f32[1024]) {\n  v = relu(x=x)\n  r = reshape(x=v) {dims: [32, 32]}\n"
                       "  y = sigmoid(x=r)\n  z = add(a=y, b=r)\n  w = neg(x=v)\n  return z, w\n}"),
              {});
  EXPECT_EQ(program.memory().planned, 2U * 4096);
}

/// A result takes the memory of an operand that nothing else reads. It does not when the value is read later or is
/// another operand too.
TEST(Plan, AnOperandThatIsReadNoMoreIsWrittenOver) {
  if (cpu_level() == CpuLevel::scalar) GTEST_SKIP() << "references write over nothing";
  const auto planned = [](const std::string& floats, const std::string& returned) {
    const auto program =
        compile(model_of(fmt::format(
                    "graph g(x: f32[1024], c: i32[1024], r: f32[1024], s: f32[1], z: i32[1]) {{\n"
                    "  v = relu(x=x)\n  w = clamp_grad(out_grad=v, unclamped=c, real={}, y_scale=s, y_zero_point=z)"
                    " {{gradient_scale: 0.0}}\n  y = sigmoid(x=w)\n  u = sigmoid(x={})\n  return y, u\n}}",
                    floats, returned)),
                {});
    return program.memory().planned;
  };
  const size_t over = planned("r", "w");
  EXPECT_EQ(planned("r", "v"), over + 4096);
  EXPECT_EQ(planned("v", "w"), over + 4096);
}

TEST(Plan, AChainNeedsTwoBuffers) {
  std::string text = "graph g(x: f32[1024]) {\n  v0 = relu(x=x)\n";
  for (int i = 1; i < 20; ++i) text += fmt::format("  v{} = sigmoid(x=v{})\n", i, i - 1);
  const auto program = compile(model_of(text + "  return v19\n}"), {});
  EXPECT_EQ(program.memory().planned, 2U * 4096);
  EXPECT_EQ(program.memory().naive, 19U * 4096);
}

TEST(Plan, OrderThatFollowsFromOthersIsDropped) {
  runtime::ProgramSpec spec;
  spec.instructions.resize(4);
  spec.instructions[1].data_dependencies = {0};
  spec.instructions[2].order_dependencies = {1, 0, 1};
  spec.instructions[3].data_dependencies = {1};
  spec.instructions[3].order_dependencies = {2, 0, 1};
  compiler::reduce_order(spec);
  EXPECT_EQ(spec.instructions[2].order_dependencies, std::vector<int>{1});
  EXPECT_EQ(spec.instructions[3].order_dependencies, std::vector<int>{2});
}

}  // namespace
}  // namespace halfstep
