// Inputs, outputs, tensors and copies of a program.
#include "halfstep/engine/runtime/program.h"

#include <gtest/gtest.h>

#include <functional>

#include "halfstep/core/base/system_memory.h"
#include "halfstep/engine/runtime/errors.h"
#include "halfstep/engine/runtime/iterated_rows.h"
#include "tests/runtime/toy.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

using test::diagnostic_of;
using test::name_of;
using toy::f32;
using toy::filled;
using toy::kCpu;
using toy::kSim;

/// y = x + w + 1.
runtime::Program small(bool frozen = false) {
  toy::Builder builder;
  const int x = builder.input("x", f32({4}));
  const int w = builder.tensor("w", filled({4}, 10), frozen);
  builder.op(&toy::kAddOne, "y", {x, w}, {builder.result("y", f32({4}))});
  return builder.build();
}

TEST(Program, Runs) {
  ThreadPool pool(1);
  auto program = small();
  EXPECT_TRUE(program.run({{"x", filled({4}, 2)}}, pool).at("y").same_bits(filled({4}, 13)));
}

TEST(Program, CanBeMoved) {
  ThreadPool pool(1);
  auto first = small();
  runtime::Program program(std::move(first));
  program = small();
  EXPECT_TRUE(program.run({{"x", filled({4}, 2)}}, pool).at("y").same_bits(filled({4}, 13)));
}

TEST(Program, ChecksInputs) {
  ThreadPool pool(1);
  auto program = small();
  const auto error = [&](const std::map<std::string, Tensor>& inputs) {
    return diagnostic_of([&] { program.run(inputs, pool); });
  };
  const auto unfit = [](const char* found) { return errors::program_input_unfit("toy", "x", found, "f32[4]"); };
  EXPECT_EQ(error({}), unfit("nothing"));
  EXPECT_EQ(error({{"x", Tensor()}}), unfit("nothing"));
  EXPECT_EQ(error({{"x", filled({5}, 0)}}), unfit("f32[5]"));
  EXPECT_EQ(error({{"x", Tensor(DType::i32, {4})}}), unfit("i32[4]"));
  EXPECT_EQ(error({{"x", filled({4}, 0)}, {"xx", filled({4}, 0)}}),
            errors::program_input_unknown("toy", "xx", ", did you mean 'x'?"));
}

TEST(Program, SetsTensors) {
  ThreadPool pool(1);
  auto program = small();
  EXPECT_TRUE(program.tensor("w").same_bits(filled({4}, 10)));
  program.set_tensor("w", filled({4}, 20));
  EXPECT_TRUE(program.run({{"x", filled({4}, 2)}}, pool).at("y").same_bits(filled({4}, 23)));
  EXPECT_TRUE(program.tensors().at("w").same_bits(filled({4}, 20)));
  EXPECT_EQ(diagnostic_of([&] { program.set_tensor("w", filled({3}, 0)); }),
            errors::program_tensor_unfit("toy", "w", "f32[3]", "f32[4]"));
  EXPECT_EQ(diagnostic_of([&] { program.tensor("ww"); }),
            errors::program_tensor_unknown("toy", "ww", ", did you mean 'w'?"));
}

TEST(Program, RefusesToSetFrozenTensor) {
  auto program = small(true);
  EXPECT_EQ(diagnostic_of([&] { program.set_tensor("w", filled({4}, 0)); }), errors::program_tensor_frozen("toy", "w"));
}

TEST(Program, TensorsAreCopies) {
  auto program = small();
  program.tensor("w").data<float>()[0] = 99;
  EXPECT_TRUE(program.tensor("w").same_bits(filled({4}, 10)));
}

TEST(Program, RunIntoWritesOverOutputs) {
  ThreadPool pool(1);
  auto program = small();
  std::map<std::string, Tensor> outputs;
  program.run_into({{"x", filled({4}, 2)}}, outputs, pool);
  const std::byte* memory = outputs.at("y").raw();
  program.run_into({{"x", filled({4}, 3)}}, outputs, pool);
  EXPECT_EQ(outputs.at("y").raw(), memory);
  EXPECT_TRUE(outputs.at("y").same_bits(filled({4}, 14)));

  const std::map<std::string, Tensor> fed_back = {{"x", outputs.at("y")}};
  program.run_into(fed_back, outputs, pool);
  EXPECT_NE(outputs.at("y").raw(), memory);
  EXPECT_TRUE(outputs.at("y").same_bits(filled({4}, 25)));
  EXPECT_TRUE(fed_back.at("x").same_bits(filled({4}, 14)));
}

TEST(Program, RunsByNumber) {
  ThreadPool pool(1);
  auto program = small();
  const Tensor x = filled({4}, 2);
  const Tensor* given[] = {&x};
  Tensor made[1];
  program.run_into(given, made, pool);
  EXPECT_TRUE(made[0].same_bits(filled({4}, 13)));
  const Tensor fed_back = made[0];
  given[0] = &fed_back;
  program.run_into(given, made, pool);
  EXPECT_TRUE(made[0].same_bits(filled({4}, 24)));
  EXPECT_TRUE(fed_back.same_bits(filled({4}, 13)));
  given[0] = nullptr;
  EXPECT_EQ(diagnostic_of([&] { program.run_into(given, made, pool); }),
            errors::program_input_unfit("toy", "x", "nothing", "f32[4]"));
}

TEST(Program, OutputsMayBeInputsTensorsAndEachOther) {
  ThreadPool pool(1);
  toy::Builder builder;
  const int x = builder.input("x", f32({4}));
  const int w = builder.tensor("w", filled({4}, 10));
  const int y = builder.result("y", f32({4}));
  builder.op(&toy::kAddOne, "y", {x}, {y});
  builder.output("again", y);
  builder.output("same", x);
  builder.output("weight", w);
  auto program = builder.build();
  const Tensor fed = filled({4}, 2);
  const auto outputs = program.run({{"x", fed}}, pool);
  EXPECT_TRUE(outputs.at("y").same_bits(filled({4}, 3)));
  EXPECT_TRUE(outputs.at("again").same_bits(filled({4}, 3)));
  EXPECT_TRUE(outputs.at("same").same_bits(fed));
  EXPECT_TRUE(outputs.at("weight").same_bits(filled({4}, 10)));
  EXPECT_NE(outputs.at("same").raw(), fed.raw());
  EXPECT_NE(outputs.at("again").raw(), outputs.at("y").raw());
}

TEST(Program, StateIsUpdatedInPlace) {
  ThreadPool pool(2);
  toy::Builder builder;
  const int old_state = builder.tensor("s", filled({4}, 0));
  const int next = builder.view_of_tensor("count.s_out", 0);
  const int reader = builder.op(&toy::kAddOne, "before", {old_state}, {builder.result("before", f32({4}))});
  const int update = builder.op(&toy::kAddOne, "count", {old_state}, {next});
  builder.order(reader, update);
  builder.output("after", next);
  auto program = builder.build();
  for (int step = 0; step < 5; ++step) {
    const auto outputs = program.run({}, pool);
    EXPECT_EQ(outputs.at("before").data<float>()[0], static_cast<float>(step + 1));
    EXPECT_EQ(outputs.at("after").data<float>()[0], static_cast<float>(step + 1));
  }
  EXPECT_TRUE(program.tensor("s").same_bits(filled({4}, 5)));
}

TEST(Program, ChainFromDeviceToDevice) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    toy::Builder builder;
    const int x = builder.input("x", f32({33}));
    const int on_sim = builder.arena("x:sim", f32({33}), kSim);
    const int a = builder.arena("a", f32({33}), kSim);
    const int on_cpu = builder.arena("a:cpu", f32({33}));
    const int b = builder.arena("b", f32({33}));
    const int back = builder.arena("b:sim", f32({33}), kSim);
    const int c = builder.arena("c", f32({33}), kSim);
    builder.copy("x", x, on_sim);
    builder.op(&toy::kAddOne, "a", {on_sim}, {a});
    builder.copy("a", a, on_cpu);
    builder.op(&toy::kAddOne, "b", {on_cpu}, {b});
    builder.copy("b", b, back);
    builder.op(&toy::kAddOne, "c", {back}, {c});
    builder.output("c", c);
    auto program = builder.build();
    for (int step = 0; step < 20; ++step) {
      const auto outputs = program.run({{"x", filled({33}, static_cast<float>(step))}}, pool);
      EXPECT_TRUE(outputs.at("c").same_bits(filled({33}, static_cast<float>(step + 3))));
    }
  }
}

TEST(Program, InputAndTensorOnADevice) {
  ThreadPool pool(1);
  toy::Builder builder;
  const int x = builder.input("x", f32({4}), kSim);
  const int w = builder.tensor("w", filled({4}, 10), false, kSim);
  const int y = builder.arena("y", f32({4}), kSim);
  builder.op(&toy::kAddOne, "y", {x, w}, {y});
  builder.output("y", y);
  auto program = builder.build();
  EXPECT_TRUE(program.run({{"x", filled({4}, 2)}}, pool).at("y").same_bits(filled({4}, 13)));
  program.set_tensor("w", filled({4}, 0));
  EXPECT_TRUE(program.run({{"x", filled({4}, 2)}}, pool).at("y").same_bits(filled({4}, 3)));
  EXPECT_TRUE(program.tensor("w").same_bits(filled({4}, 0)));
}

TEST(Program, AKernelAtTheWrongPlaceIsFound) {
  ThreadPool pool(1);
  toy::Builder builder;
  const int x = builder.input("x", f32({4}));
  builder.op(&toy::kAddOne, "y", {x}, {builder.arena("y", f32({4}), kSim)});
  auto program = builder.build();
  EXPECT_EQ(name_of([&] { program.run({{"x", filled({4}, 2)}}, pool); }), "foreign_device_memory");
}

/// Rows of a loop are stacked.
TEST(Program, RowsOfOneLoopHaveOneType) {
  EXPECT_EQ(diagnostic_of([] {
              runtime::stacked({filled({4}, 0), filled({3}, 0)}, f32({2, 4}));
            }),
            errors::stacked_rows_differ("f32[3]", "f32[4]"));
}

TEST(Program, ReportsMemory) {
  const auto program = small();
  EXPECT_EQ(program.memory().planned, 0U);
  EXPECT_EQ(program.memory().tensors, 16U);
}

/// y = x + 1 over four elements. `damage` changes the spec before the program is created.
Diagnostic error_after(const std::function<void(runtime::ProgramSpec&)>& damage) {
  toy::Builder builder;
  const int x = builder.input("x", f32({4}));
  const int w = builder.tensor("w", filled({4}, 10));
  const int kept = builder.arena("kept", f32({4}));
  builder.op(&toy::kAddOne, "kept", {x, w}, {kept});
  builder.copy("y", kept, builder.result("y", f32({4})));
  runtime::ProgramSpec spec = builder.spec();
  runtime::Instruction& add = spec.instructions[0];
  for (runtime::Operand* operand : {&add.in[0], &add.in[1], &add.out[0]}) operand->prepared = f32({4});
  damage(spec);
  return diagnostic_of([&] { runtime::Program(spec, std::vector<Tensor>{filled({4}, 10)}); });
}

TEST(Program, RefusesOtherTypesThanKernelsWerePreparedFor) {
  EXPECT_EQ(error_after([](runtime::ProgramSpec&) {}), Diagnostic{});
  EXPECT_EQ(
      error_after([](runtime::ProgramSpec& spec) { spec.slots[0].type = f32({5}); }),
      errors::defect("program", "node 'kept': toy_op 'x0' is f32[5], and its kernel 'toy' was prepared for f32[4]"));
  EXPECT_EQ(
      error_after([](runtime::ProgramSpec& spec) {
        spec.slots[0].type = f32({2, 2});
      }),
      errors::defect("program", "node 'kept': toy_op 'x0' is f32[2, 2], and its kernel 'toy' was prepared for f32[4]"));
  EXPECT_EQ(
      error_after([](runtime::ProgramSpec& spec) {
        spec.slots[2].type = {DType::f16, {4}};
      }),
      errors::defect("program", "node 'kept': toy_op 'out' is f16[4], and its kernel 'toy' was prepared for f32[4]"));
  EXPECT_EQ(
      error_after([](runtime::ProgramSpec& spec) { spec.instructions[0].in[1].slot = -1; }),
      errors::defect("program", "node 'kept': toy_op 'x1' is absent, and its kernel 'toy' was prepared for f32[4]"));
}

TEST(Program, RefusesMoreMemoryThanTheMachineHas) {
  EXPECT_EQ(error_after([](runtime::ProgramSpec& spec) { spec.arenas[kCpu] = size_t{1} << 60; }),
            errors::program_exceeds_memory("graph 'toy'", "values of 1152921504606846976 bytes at once on cpu",
                                           machine_memory()));
}

TEST(Program, RefusesValuesOutsideTheirMemory) {
  EXPECT_EQ(error_after([](runtime::ProgramSpec& spec) { spec.slots[1].type = f32({5}); }),
            errors::defect("program", "'w' is f32[5], and the tensor 'w' whose memory it has is f32[4]"));
  EXPECT_EQ(error_after([](runtime::ProgramSpec& spec) { spec.slots[2].offset = 4096; }),
            errors::defect("program", "'kept' ends at 4112 of an arena of 64 bytes"));
  EXPECT_EQ(error_after([](runtime::ProgramSpec& spec) { spec.slots[3].type = f32({5}); }),
            errors::defect("program", "node 'y': copies f32[4] to f32[5]"));
}

}  // namespace
}  // namespace halfstep
