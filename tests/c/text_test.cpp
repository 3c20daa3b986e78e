// Keywords, names, loops and memory of C programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/c/c_text.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/nests.h"
#include "halfstep/formats/c/orders.h"
#include "tests/support/error.h"

namespace halfstep::formats::c {
namespace {

using test::diagnostic_of;

TEST(CText, NumbersReadTheSameEverywhere) {
  EXPECT_EQ(c_number(int64_t{-5}), "-5");
  EXPECT_EQ(c_number(int64_t{INT32_MIN}), "(-2147483647 - 1)");
  EXPECT_EQ(c_number(3.0F), "3.0f");
  for (const float value : {0.1F, 1e-30F, 123456789.0F, 0.00392156886F, -2.5F}) {
    const std::string text = c_number(value);
    EXPECT_EQ(std::stof(text), value) << text;
    EXPECT_TRUE(text.ends_with("f") && text.find_first_of(".e") != std::string::npos) << text;
  }
}

/// C has no literals for them, and their names would need a header.
TEST(CText, NumbersThatAreNotFiniteAreQuotients) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(c_number(infinity), "(1.0f / 0.0f)");
  EXPECT_EQ(c_number(-infinity), "(-1.0f / 0.0f)");
  EXPECT_EQ(c_number(std::numeric_limits<float>::quiet_NaN()), "(0.0f / 0.0f)");
  EXPECT_EQ(c_number(-std::numeric_limits<float>::quiet_NaN()), "(0.0f / 0.0f)");
}

TEST(CText, NamesOfLayersEndNoStringAndNoComment) {
  EXPECT_EQ(c_string("a\"b\\c\n?\?="), "a\\042b\\134c\\012\\077\\077=");
  EXPECT_EQ(c_comment("x*/y/*z"), "x*.y/.z");
}

TEST(CText, IdentifiersAreCsOwn) {
  for (const char* good : {"digits", "a1_b", "X"}) EXPECT_TRUE(is_c_identifier(good)) << good;
  for (const char* bad : {"", "1a", "_a", "a-b", "a b", "\xc3\xa4"}) EXPECT_FALSE(is_c_identifier(bad)) << bad;
  EXPECT_EQ(to_c_identifier("/conv.1/Conv_output_0"), "conv_1_Conv_output_0");
  EXPECT_EQ(to_c_identifier("2layer"), "n2layer");
  EXPECT_EQ(to_c_identifier("//"), "network");
  Identifiers names;
  EXPECT_EQ(names.unique("a.b"), "a_b");
  EXPECT_EQ(names.unique("a_b"), "a_b_2");
  EXPECT_EQ(names.unique("A_B"), "A_B_3");
  for (const char* reserved : {"int", "memcpy", "window", "add_u8_u8_u8_half_up"}) EXPECT_TRUE(is_reserved(reserved));
  EXPECT_FALSE(is_reserved("image"));
}

/// The steps that a list of loop nests runs through.
std::vector<std::pair<int64_t, int64_t>> made(const std::vector<Nest>& nests) {
  std::vector<std::pair<int64_t, int64_t>> all;
  for (const Nest& n : nests) {
    std::array<int64_t, 5> i{};
    const int64_t total = std::accumulate(n.count.begin(), n.count.end(), int64_t{1}, std::multiplies<>());
    for (int64_t k = 0; k < total; ++k) {
      int64_t rest = k, to = n.first.to, from = n.first.from;
      for (size_t level = 5; level-- > 0;) {
        i[level] = rest % n.count[level];
        rest /= n.count[level];
        to += i[level] * n.to_step[level];
        from += i[level] * n.from_step[level];
      }
      all.emplace_back(to, from);
    }
  }
  std::ranges::sort(all);
  return all;
}

void expect_nests(std::vector<Step> steps, size_t most) {
  std::ranges::sort(steps, {}, &Step::to);
  std::vector<std::pair<int64_t, int64_t>> wanted;
  for (const Step& step : steps) wanted.emplace_back(step.to, step.from);
  const auto nests = nests_of(steps);
  EXPECT_EQ(made(nests), wanted);
  EXPECT_LE(nests.size(), most);
}

TEST(Nests, AnOrderIsOneNest) {
  for (const Dims& dims : {Dims{1, 3, 4, 5}, Dims{2, 7, 3, 3}, Dims{1, 2, 1, 2}, Dims{3, 1, 5, 1}, Dims{2, 2, 2, 2}}) {
    const auto places = stored_places(dims, true);
    std::vector<Step> to, from;
    for (int64_t i = 0; i < static_cast<int64_t>(places.size()); ++i) {
      to.push_back({places[static_cast<size_t>(i)], i});
      from.push_back({i, places[static_cast<size_t>(i)]});
    }
    expect_nests(to, 1);
    expect_nests(from, 1);
  }
}

TEST(Nests, AnyStepsAreMadeOnce) {
  uint64_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<Step> steps;
    for (int64_t i = 0; i < 40; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      if (state >> 62 != 0) steps.push_back({i, static_cast<int64_t>(state >> 60 & 7)});
    }
    expect_nests(steps, 40);
  }
}

const char* const kSum = R"(graph g(x: f32[?, 2, 3, 4]) {
  const @s: f32[1]
  const @z: i32[1]
  q = quantize(x=x, scale=@s, zero_point=@z)
  p = max_pool2d(x=q) {kernel: [2, 2], stride: [1, 1]}
  t = integer_add(a=p, b=p) {a_multiplier: 1073741824, b_multiplier: 1073741824, shift: 31}
  y = dequantize(x=t, scale=@s, zero_point=@z)
  return y = y
})";

Model sum() {
  Model model;
  model.graph = parse(kSum, "sum.ir");
  model.tensors = {{"s", Tensor::scalar(0.5F)}, {"z", Tensor::scalar(int32_t{0})}};
  return model;
}

TEST(CProgramText, HasItsPortsItsLayersAndItsMemory) {
  const CProgram program = c_program(sum(), {.name = "sum", .hooks = true});
  ASSERT_EQ(program.inputs.size(), 1U);
  EXPECT_TRUE(program.inputs[0].is_image);
  EXPECT_EQ(program.inputs[0].type.dims, (Dims{1, 2, 3, 4}));
  EXPECT_EQ(program.outputs[0].codes, "t");
  ASSERT_EQ(program.layers.size(), 3U);
  EXPECT_EQ(program.layers[1].name, "p");
  EXPECT_EQ(program.arena_bytes, 64U);  // p alone: the caller owns x and t
  EXPECT_FALSE(program.uses_floats);
  EXPECT_EQ(c_program(sum(), {.name = "sum"}).files[1].text, c_program(sum(), {.name = "sum"}).files[1].text);
}

TEST(CProgramText, AnImageComesBackFromMemory) {
  Tensor image(DType::i16, {2, 3, 2, 5});
  std::iota(image.data<int16_t>().begin(), image.data<int16_t>().end(), int16_t{0});
  const Tensor stored = to_memory(image, true);
  EXPECT_EQ(stored.dims(), (Dims{2, 2, 5, 3}));
  EXPECT_EQ(stored.data<int16_t>()[1], 10);
  EXPECT_TRUE(from_memory(stored, true).same_bits(image));
}

TEST(CProgramText, RefusesNamesAndExtents) {
  EXPECT_EQ(diagnostic_of([] { c_program(sum(), {.name = "2sum"}); }), errors::c_name("2sum"));
  Model open = sum();
  open.graph.set_type(open.graph.arguments()[0], {DType::f32, {kUnknown, 2, kUnknown, 4}});
  EXPECT_EQ(diagnostic_of([&] { c_program(open, {.name = "sum"}); }).entry, &errors::c_dynamic_dims_entry);
  Model empty = sum();
  std::string text = kSum;
  text.replace(text.find("max_pool2d(x=q) {kernel: [2, 2], stride: [1, 1]}"), 48,
               "slice(x=q) {starts: [1], ends: [1], axes: [1]}");
  empty.graph = parse(text, "empty.ir");
  EXPECT_EQ(diagnostic_of([&] { c_program(empty, {.name = "sum"}); }),
            errors::no_c_form("empty.ir:5: node 'p'", "slice to u8[1, 0, 3, 4], which has no elements,"));
}

}  // namespace
}  // namespace halfstep::formats::c
