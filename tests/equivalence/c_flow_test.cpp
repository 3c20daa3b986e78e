// Branches and loops in C, compared with the program of the same network.
#include <gtest/gtest.h>

#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/temporary_folder.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/verify/equivalence/compared_programs.h"
#include "tests/equivalence/c_backend.h"
#include "tests/support/error.h"

namespace halfstep::test {
namespace {

/// A Model with the tensors in `contents`, and random values for all others.
Model model_of(const std::string& text, const Tensors& contents = {}) {
  Model model;
  model.graph = parse(text, "flow.ir");
  Random random(7, 3);
  for (const Value tensor : model.graph.tensors()) {
    const auto given = contents.find(tensor.name());
    Tensor made = given != contents.end() ? given->second : Tensor(tensor.dtype(), tensor.dims());
    if (given == contents.end()) {
      if (tensor.dtype() == DType::f32) {
        for (float& value : made.data<float>()) value = random.uniform() * 2 - 1;
      } else if (tensor.dtype() == DType::i8) {
        for (int8_t& value : made.data<int8_t>()) value = static_cast<int8_t>(random.below(255));
      }
    }
    model.tensors.emplace(tensor.name(), made);
  }
  return model;
}

Tensor number(int64_t value) { return Tensor::of<int64_t>(DType::i64, {}, {&value, 1}); }
Tensor truth(bool value) { return Tensor::of<bool>(DType::boolean, {}, {&value, 1}); }
Tensor floats(const Dims& dims, uint64_t seed, float largest = 1) {
  Tensor made(DType::f32, dims);
  Random random(seed, 5);
  for (float& value : made.data<float>()) value = (random.uniform() * 2 - 1) * largest;
  return made;
}

std::vector<api::CProgramOptions> machines() {
  std::vector<api::CProgramOptions> all = other_machines();
  all.push_back(with_compiler(kSanitized));
  all.push_back(with_compiler("cc -O2 -fsanitize=address"));
  return all;
}

/// Compares every value outside of regions, over several runs.
void expect_same(const Model& model, const std::vector<Tensors>& runs) {
  ThreadPool pool(1);
  for (const api::CProgramOptions& machine : machines()) {
    SCOPED_TRACE(machine.compiler);
    verify::ExecutionPaths paths;
    paths.integer = model;
    api::add_c(paths, machine);
    for (const Tensors& inputs : runs) {
      const Tensors found = paths.engine(inputs);
      std::vector<std::string> names;
      for (const auto& [name, tensor] : found) names.push_back(name);
      ASSERT_FALSE(names.empty());
      const Model sized = verify::sized_for(model, inputs);
      const Tensors expected = compile(sized, {.fetch = names, .optimize = false, .one_order = true}).run(inputs, pool);
      for (const auto& [name, tensor] : found) EXPECT_TRUE(tensor.same_bits(expected.at(name))) << name;
    }
  }
}

class CFlow : public CBackend {};

TEST_F(CFlow, BranchesGoBothWays) {
  const Model model = model_of(R"(graph branch(x: f32[4, 3], positive: bool[]) {
  param @w: f32[3, 3]
  const @stored: f32[4, 3]
  r = if(cond=positive, captured=[x]) region then(a: f32[4, 3]) {
    p = linear(x=a, w=@w)
    q = relu(x=p)
    return q, a, @stored
  } region else(b: f32[4, 3]) {
    t = add(a=b, b=@stored)
    return t, t, b
  }
  out = add(a=r, b=r.out1)
  all = add(a=out, b=r.out2)
  return all
})");
  std::vector<Tensors> runs;
  for (const bool positive : {true, false}) runs.push_back({{"x", floats({4, 3}, 3)}, {"positive", truth(positive)}});
  expect_same(model, runs);
}

TEST_F(CFlow, LoopsRunAsLongAsTheirConditionHolds) {
  const std::string text = R"(graph doubling(x: f32[2, 3], n: i64[]) {
  const @zero: i64[]
  const @one: i64[]
  first = less(a=@zero, b=n)
  loop = while(cond=first, values=[@zero, x, x, n]) {states: 3} region body(i: i64[], v: f32[2, 3], u: f32[2, 3], last: i64[]) {
    w = add(a=v, b=u)
    j = add(a=i, b=@one)
    more = less(a=j, b=last)
    return more, j, u, w
  }
  return loop, loop.out1, loop.out2
})";
  const Model model = model_of(text, {{"zero", number(0)}, {"one", number(1)}});
  std::vector<Tensors> runs;
  for (const int64_t n : {-1, 0, 1, 2, 7}) runs.push_back({{"x", floats({2, 3}, 4)}, {"n", number(n)}});
  expect_same(model, runs);
  Model bounded = model;
  bounded.graph.op("loop").set_attributes({{"at_most", int64_t{3}}});
  expect_same(bounded, {{{"x", floats({2, 3}, 4)}, {"n", number(100)}}});
}

TEST_F(CFlow, StatesMayChangePlacesAndStay) {
  const Model model = model_of(R"(graph turn(x: f32[2], y: f32[2], z: f32[2], n: i64[]) {
  const @zero: i64[]
  const @one: i64[]
  first = less(a=@zero, b=n)
  loop = while(cond=first, values=[@zero, x, y, z, first, n]) {states: 5} region body(i: i64[], a: f32[2], b: f32[2], c: f32[2], on: bool[], last: i64[]) {
    r = reshape(x=a) {dims: [2]}
    j = add(a=i, b=@one)
    more = less(a=j, b=last)
    return on, j, b, r, c, more
  }
  return loop, loop.out1, loop.out2, loop.out3
})",
                               {{"zero", number(0)}, {"one", number(1)}});
  std::vector<Tensors> runs;
  for (const int64_t n : {0, 1, 4, 5})
    runs.push_back({{"x", floats({2}, 1)}, {"y", floats({2}, 2)}, {"z", floats({2}, 3)}, {"n", number(n)}});
  expect_same(model, runs);
}

TEST_F(CFlow, ScansTakeAndStack) {
  expect_same(model_of(R"(graph sums(x: f32[5, 3], start: f32[3], more: f32[5]) {
  const @table: f32[5, 3]
  s = scan(values=[start, x, @table, more, start]) {states: 1, scanned: 3} region body(sum: f32[3], row: f32[3], other: f32[3], k: f32[], from: f32[3]) {
    next = add(a=sum, b=row)
    scaled = mul(a=other, b=k)
    both = add(a=scaled, b=from)
    return next, sum, both, @table, k
  }
  return s, rows = s.out1, s.out2, s.out3, s.out4
})"),
              {{{"x", floats({5, 3}, 1)}, {"start", floats({3}, 2)}, {"more", floats({5}, 3)}}});
}

/// The value is only read at the beginning of an iteration. It lies beside memory that the rest of the iteration needs.
TEST_F(CFlow, WhatIterationsReadStaysUntilTheLast) {
  expect_same(model_of(R"(graph kept(x: f32[4, 3], start: f32[3]) {
  doubled = add(a=x, b=x)
  captured = add(a=start, b=start)
  s = scan(values=[start, doubled, captured]) {states: 1, scanned: 1} region body(sum: f32[3], row: f32[3], c: f32[3]) {
    a = mul(a=row, b=c)
    b = add(a=a, b=sum)
    d = mul(a=b, b=b)
    e = add(a=d, b=b)
    f = sub(a=e, b=d)
    g = tanh(x=f)
    return g
  }
  return s
})"),
              {{{"x", floats({4, 3}, 1)}, {"start", floats({3}, 2)}}});
}

TEST_F(CFlow, RegionsAreNested) {
  const Model model = model_of(R"(graph nested(x: f32[4, 3], n: i64[]) {
  const @zero: i64[]
  const @one: i64[]
  const @sum: f32[3]
  far = add(a=x, b=x)
  s = scan(values=[@sum, x, n, far]) {states: 1, scanned: 1} region body(sum: f32[3], row: f32[3], n1: i64[], far1: f32[4, 3]) {
    first = less(a=@zero, b=n1)
    loop = while(cond=first, values=[@zero, row, n1, sum, far1]) {states: 2} region body(i: i64[], v: f32[3], last: i64[], from: f32[3], far2: f32[4, 3]) {
      total = reduce_sum(x=v) {axes: []}
      half = reduce_max(x=from) {axes: [0]}
      big = less(a=total, b=half)
      chosen = if(cond=big, captured=[v, from, far2]) region then(v3: f32[3], from3: f32[3], far3: f32[4, 3]) {
        c = call(captured=[v3, far3]) region body(v4: f32[3], far4: f32[4, 3]) {
          mean = reduce_mean(x=far4) {axes: [0]}
          y4 = sub(a=v4, b=mean)
          return y4
        }
        return c
      } region else(v5: f32[3], from5: f32[3], far5: f32[4, 3]) {
        y5 = mul(a=v5, b=from5)
        return y5
      }
      j = add(a=i, b=@one)
      more = less(a=j, b=last)
      return more, j, chosen
    }
    next = add(a=loop.out1, b=sum)
    return next, loop.out1
  }
  after = add(a=far, b=s.out1)
  return s, after
})",
                               {{"zero", number(0)}, {"one", number(1)}});
  std::vector<Tensors> runs;
  for (const int64_t n : {0, 1, 3}) {
    for (const uint64_t seed : {5, 6, 7}) runs.push_back({{"x", floats({4, 3}, seed)}, {"n", number(n)}});
  }
  expect_same(model, runs);
}

/// Networks from files of several opsets, compared with the outputs of the engine that made them.
// A7.1
TEST_F(CFlow, NetworksOfFilesGiveTheSame) {
  for (const char* name : {"loop_if_ts17/model.onnx", "control_flow/model.onnx", "paddle_control_pir/model.json"}) {
    SCOPED_TRACE(name);
    const std::filesystem::path file = std::filesystem::path(HALFSTEP_TEST_DATA) / "models" / name;
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
    Model model = api::load(file);
    const std::vector<Value> outputs = model.graph.outputs();
    if (std::ranges::none_of(outputs, [](Value v) { return v.dims().size() == 3; })) {
      EXPECT_EQ(name_of([&] { formats::c::c_program(model, {.name = "network"}); }), "");
    } else {  // a loop stacks as many rows as it runs: outputs that do not need them can be C
      EXPECT_EQ(name_of([&] { formats::c::c_program(model, {.name = "network"}); }), "c_run_time_extents");
      model.graph.set_outputs({outputs[0]});
    }
    std::vector<Tensors> runs;
    for (const uint64_t seed : {1, 2, 3, 4}) {
      Tensors inputs;
      for (const Value argument : model.graph.arguments()) {
        Dims dims = argument.dims();
        std::ranges::replace(dims, kUnknown, int64_t{1});
        const bool is_count = argument.dtype() == DType::i64;
        inputs.emplace(argument.name(), is_count ? number(static_cast<int64_t>(seed))
                                                 : floats(dims, seed, 0.5F * static_cast<float>(seed)));
      }
      runs.push_back(inputs);
    }
    expect_same(model, runs);
  }
}

/// A recurrent network on codes: u8 input, a u8 state, sums of two layers, and a table as its activation.
TEST_F(CFlow, ARecurrentNetworkOnCodesIsAScan) {
  const std::string text = R"(graph recurrent(x: f32[6, 1, 5], start: f32[1, 4]) {
  const @s: f32[1]
  const @z: i32[1]
  param @wx: i8[4, 5]
  param @wh: i8[4, 4]
  param @bias: i32[4]
  const @shift: i32[1]
  const @multiplier: i32[1]
  param @table: u8[256]
  q = quantize(x=x, scale=@s, zero_point=@z) {code_type: "u8", code_min: 0, code_max: 255}
  h0 = quantize(x=start, scale=@s, zero_point=@z) {code_type: "u8", code_min: 0, code_max: 255}
  s = scan(values=[h0, q]) {states: 1, scanned: 1} region body(h: u8[1, 4], row: u8[1, 5]) {
    a = integer_linear(x=row, w=@wx, b=@bias, shift=@shift, multiplier=@multiplier) {x_zero_point: 128, y_zero_point: 120}
    b = integer_linear(x=h, w=@wh, b=@bias, shift=@shift, multiplier=@multiplier) {x_zero_point: 128, y_zero_point: 130}
    sum = integer_add(a=a, b=b) {a_zero_point: 120, b_zero_point: 130, a_multiplier: 1073741824, b_multiplier: 1273741824, shift: 31, y_zero_point: 128}
    next = integer_lookup(x=sum, table=@table)
    return next, next
  }
  last = dequantize(x=s, scale=@s, zero_point=@z)
  all = dequantize(x=s.out1, scale=@s, zero_point=@z)
  return last, all
})";
  Tensor table(DType::u8, {256}), bias(DType::i32, {4});
  for (size_t i = 0; i < 256; ++i) table.data<uint8_t>()[i] = static_cast<uint8_t>(20 + i * 200 / 255);
  for (size_t i = 0; i < 4; ++i) bias.data<int32_t>()[i] = static_cast<int32_t>(i) * 100 - 150;
  const Model model = model_of(text, {{"s", Tensor::scalar(1.0F / 128)},
                                      {"z", Tensor::scalar(int32_t{128})},
                                      {"bias", bias},
                                      {"shift", Tensor::scalar(int32_t{37})},
                                      {"multiplier", Tensor::scalar(int32_t{1140850688})},
                                      {"table", table}});
  std::vector<Tensors> runs;
  for (const uint64_t seed : {1, 2, 3})
    runs.push_back({{"x", floats({6, 1, 5}, seed)}, {"start", floats({1, 4}, seed + 9)}});
  expect_same(model, runs);
}

/// Images are stored channels last inside and outside of regions. Values that they are stacked to or cut from keep the
/// network's order.
TEST_F(CFlow, ImagesKeepTheirOrder) {
  expect_same(
      model_of(R"(graph images(x: f32[3, 1, 2, 4, 4], more: f32[2, 2, 4, 4], start: f32[1, 2, 4, 4], up: bool[]) {
  param @w: f32[2, 2, 3, 3]
  const @stored: f32[1, 2, 4, 4]
  many = max_pool2d(x=more) {kernel: [1, 1], stride: [1, 1]}
  other = scan(values=[many]) {states: 0, scanned: 1} region body(part: f32[2, 4, 4]) {
    t = transpose(x=part) {perm: [1, 0, 2]}
    return t, part
  }
  s = scan(values=[start, x, start]) {states: 1, scanned: 1} region body(h: f32[1, 2, 4, 4], image: f32[1, 2, 4, 4], from: f32[1, 2, 4, 4]) {
    c = conv2d(x=image, w=@w) {pad: [1, 1, 1, 1]}
    a = add(a=c, b=h)
    b = add(a=a, b=from)
    return b, a
  }
  r = if(cond=up, captured=[s]) region then(v: f32[1, 2, 4, 4]) {
    p = max_pool2d(x=v) {kernel: [1, 1], stride: [1, 1]}
    return p
  } region else(u: f32[1, 2, 4, 4]) {
    return @stored
  }
  return s.out1, r, other, other.out1
})"),
      {{{"x", floats({3, 1, 2, 4, 4}, 1)},
        {"more", floats({2, 2, 4, 4}, 4)},
        {"start", floats({1, 2, 4, 4}, 2)},
        {"up", truth(true)}},
       {{"x", floats({3, 1, 2, 4, 4}, 3)},
        {"more", floats({2, 2, 4, 4}, 5)},
        {"start", floats({1, 2, 4, 4}, 2)},
        {"up", truth(false)}}});
}

/// `count` nested loops. The innermost one adds.
std::string nested(int count) {
  std::string text = "graph deep(x: f32[2], on: bool[]) {\n";
  for (int i = 0; i < count; ++i) {
    const std::string x = i == 0 ? "x" : fmt::format("x{}", i), on = i == 0 ? "on" : fmt::format("on{}", i);
    text += fmt::format("n{0} = if(cond={1}, captured=[{2}, {1}]) region then(x{3}: f32[2], on{3}: bool[]) {{\n", i, on,
                        x, i + 1);
  }
  text += fmt::format(
      "y{0} = add(a=x{0}, b=x{0}) return y{0} }} region else(e{0}: f32[2], o{0}: bool[]) {{ return e{0} }}\n", count);
  for (int i = count - 1; i > 0; --i)
    text += fmt::format("return n{0} }} region else(e{0}: f32[2], o{0}: bool[]) {{ return e{0} }}\n", i);
  return text + "return n0 }";
}

TEST_F(CFlow, AHundredLevelsAreOneProgram) {
  expect_same(model_of(nested(100)),
              {{{"x", floats({2}, 1)}, {"on", truth(true)}}, {{"x", floats({2}, 1)}, {"on", truth(false)}}});
}

TEST_F(CFlow, IterationsAreCountedWhereThatIsAskedFor) {
  const Model model = model_of(R"(graph forever(x: f32[2], on: bool[]) {
  loop = while(cond=on, values=[x, on]) {states: 1} region body(v: f32[2], again: bool[]) {
    w = add(a=v, b=v)
    return again, w
  }
  return loop
})");
  const formats::c::CProgram program = formats::c::c_program(model, {.name = "forever"});
  EXPECT_TRUE(program.counts_iterations);
  io::TemporaryFolder folder;
  for (const formats::c::CFile& file : program.files) io::write_file(folder / file.name, file.text);
  io::write_file(
      folder / "main.c",
      "#include \"forever.h\"\nint main(void)\n{\n    const float x[2] = {1.0f, 2.0f};\n    const uint8_t on = 1, "
      "off = 0;\n    float y[2];\n    if (forever_run(x, &off, y) != FOREVER_OK) return 2;\n    return "
      "forever_run(x, &on, y) == FOREVER_TOO_MANY_ITERATIONS ? 0 : 1;\n}\n");
  std::vector<std::string> words =
      io::split_command(std::string("cc -O1") + kWarnings + " -DFOREVER_MAX_ITERATIONS=50");
  for (const char* file : {"forever.c", "main.c"}) words.push_back((folder / file).string());
  words.insert(words.end(), {"-o", (folder / "program").string()});
  const io::Ended compiled = io::run_program(words, "", 1200);
  ASSERT_EQ(compiled.code, 0) << compiled.errors;
  EXPECT_EQ(io::run_program({(folder / "program").string()}, "", 200).code, 0);
}

TEST_F(CFlow, ExtentsThatOnlyARunKnowsAreRefusedByName) {
  const Model model = model_of(R"(graph open(x: f32[2, 3], on: bool[], last: i64[]) {
  const @zero: i64[]
  r = if(cond=on, captured=[x]) region then(a: f32[2, 3]) {
    p = slice(x=a) {starts: [0], ends: [1], axes: [0]}
    return p
  } region else(b: f32[2, 3]) { return b }
  after = add(a=r, b=r)
  loop = while(cond=on, values=[x, x, on]) {states: 2} region body(grown: f32[?, 3], v: f32[2, 3], again: bool[]) {
    g = concat(x=[grown, v]) {axis: 0}
    return again, g, v, v
  }
  return after, loop.out1, loop.out2
})");
  const auto found = diagnostics_of([&] { formats::c::c_program(model, {.name = "open"}); });
  ASSERT_EQ(found.size(), 3U);
  const auto expected = [&](size_t i, const char* op, const char* layer, const char* name, const char* type) {
    return placed(errors::c_run_time_extents(found[i].where, op, name, type, found[i].remedy), layer, "");
  };
  EXPECT_EQ(found[0], expected(0, "if", "r", "r", "f32[?, 3]"));
  EXPECT_EQ(found[1], expected(1, "while", "loop", "loop", "f32[?, 3]"));
  EXPECT_EQ(found[2], expected(2, "while", "loop", "loop.out2", "f32[?, 2, 3]"));
  EXPECT_NE(found[1].remedy, found[2].remedy);
}

}  // namespace
}  // namespace halfstep::test
