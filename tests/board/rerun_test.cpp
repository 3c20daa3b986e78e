// Recomputed layers: sums against a plain loop, and the diagnosis of a single edit.
#include "halfstep/verify/board/rerun.h"

#include <gtest/gtest.h>

#include <functional>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

Tensor drawn(DType type, const Dims& dims, int64_t low, int64_t high, uint64_t seed) {
  Tensor tensor(type, dims);
  Random random(seed, 0);
  for (int64_t i = 0; i < tensor.size(); ++i)
    set_element(tensor, i,
                static_cast<double>(low + static_cast<int64_t>(random.below(static_cast<uint64_t>(high - low)))));
  return tensor;
}

/// A convolution from 3 to 4 channels on 6x5 pixels. The result has a zero point and a relu.
Rerun layer() {
  const OpInfo& info = ops::IntegerConv2d::record();
  Rerun conv{&info, {}, std::vector<Tensor>(info.inputs.size())};
  for (const AttributeInfo& attribute : info.attributes) conv.attributes[attribute.name] = attribute.default_value;
  conv.attributes["pad"] = std::vector<int64_t>{1, 0, 1, 0};
  conv.attributes["x_zero_point"] = int64_t{11};
  conv.attributes["y_zero_point"] = int64_t{100};
  conv.attributes["code_min"] = int64_t{100};
  *conv.operand("x") = drawn(DType::u8, {1, 3, 6, 5}, 0, 256, 1);
  *conv.operand("w") = drawn(DType::i8, {4, 3, 3, 2}, -127, 128, 2);
  *conv.operand("b") = drawn(DType::i32, {4}, -9000, 9000, 3);
  *conv.operand("multiplier") = drawn(DType::i32, {4}, 1 << 30, 2147483647, 4);
  *conv.operand("shift") = Tensor::of<int32_t>(DType::i32, {4}, std::vector<int32_t>{40, 39, 41, 40});
  return conv;
}

int64_t whole(const Tensor& tensor, std::initializer_list<int64_t> at) {
  int64_t index = 0;
  size_t axis = 0;
  for (const int64_t i : at) index = index * tensor.dims()[axis++] + i;
  return static_cast<int64_t>(element(tensor, index));
}

TEST(Rerun, has_the_sums_of_a_plain_loop_and_the_codes_of_the_rule) {
  const Rerun conv = layer();
  ThreadPool pool(1);
  const auto sums = sums_of(conv, pool);
  ASSERT_TRUE(sums);
  const Tensor codes = conv.run(pool);
  ASSERT_EQ(codes.dims(), (Dims{1, 4, 6, 4}));
  for (int64_t o = 0, i = 0; o < 4; ++o) {
    for (int64_t h = 0; h < 6; ++h) {
      for (int64_t w = 0; w < 4; ++w, ++i) {
        int64_t sum = 0;
        for (int64_t c = 0; c < 3; ++c) {
          for (int64_t kh = 0; kh < 3; ++kh) {
            for (int64_t kw = 0; kw < 2; ++kw) {
              const int64_t y = h + kh - 1, x = w + kw;
              if (y < 0 || y >= 6) continue;
              sum += (whole(*conv.operand("x"), {0, c, y, x}) - 11) * whole(*conv.operand("w"), {o, c, kh, kw});
            }
          }
        }
        ASSERT_EQ(static_cast<int64_t>(sums->sums[static_cast<size_t>(i)]), sum);
        const int64_t acc = sum + whole(*conv.operand("b"), {o}), shift = whole(*conv.operand("shift"), {o});
        const int64_t product = acc * whole(*conv.operand("multiplier"), {o});
        const int64_t code = (product >> shift) + (product >> (shift - 1) & 1) + 100;
        ASSERT_EQ(static_cast<int64_t>(element(codes, i)), std::clamp<int64_t>(code, 100, 255));
        ASSERT_EQ(sums->code(static_cast<size_t>(i), acc), std::clamp<int64_t>(code, 100, 255));
      }
    }
  }
}

/// The hypothesis when a board produced the codes `wrong`.
Guess guess(const Numbers& wrong, ThreadPool& pool) {
  Evidence evidence;
  evidence.rerun = layer();
  const Tensor codes = evidence.rerun->run(pool);
  evidence.entry = {.name = "y", .layer = "y", .op = "integer_conv2d", .type = codes.type()};
  evidence.entry.codes = Codes{0.5F, 100, 0, 255};
  evidence.dims = ImageDims::of(codes.dims());
  evidence.expected = numbers_of(codes);
  evidence.found = wrong;
  for (const double code : wrong) evidence.cells.push_back(static_cast<std::byte>(static_cast<int>(code)));
  evidence.sums = sums_of(*evidence.rerun, pool);
  evidence.pool = &pool;
  const auto guesses = diagnose(evidence);
  return guesses.empty() ? Guess{} : guesses.front();
}

TEST(Rerun, names_the_one_thing_that_is_another) {
  ThreadPool pool(1);
  const std::vector<std::pair<std::string, std::function<void(Rerun&)>>> edits = {
      {"activation", [](Rerun& conv) { conv.attributes["code_min"] = int64_t{0}; }},
      {"rounding", [](Rerun& conv) { conv.attributes["shift_rounding"] = std::string("truncate"); }},
      {"zero_point", [](Rerun& conv) { conv.attributes["x_zero_point"] = int64_t{0}; }},
      {"padding",
       [](Rerun& conv) {
         conv.attributes["pad"] = std::vector<int64_t>{2, 0, 0, 0};
       }},
      {"bias", [](Rerun& conv) { *conv.operand("b") = Tensor(DType::i32, {4}); }},
      {"channel_scale",
       [](Rerun& conv) {
         for (const char* port : {"multiplier", "shift"}) {
           Tensor& tensor = *conv.operand(port);
           tensor = tensor.clone();
           set_element(tensor, 1, element(tensor, 0));
         }
       }},
      {"bit_shift", [](Rerun& conv) {
         Tensor& shift = *conv.operand("shift");
         shift = shift.clone();
         for (int64_t c = 0; c < 4; ++c) set_element(shift, c, element(shift, c) + 1);
       }}};
  for (const auto& [name, edit] : edits) {
    Rerun changed = layer();
    edit(changed);
    const Guess found = guess(numbers_of(changed.run(pool)), pool);
    EXPECT_EQ(found.name, name) << found.sentence;
    EXPECT_EQ(found.proof, Proof::exact) << name;
    EXPECT_EQ(found.differing, 0) << name;
  }
}

}  // namespace
}  // namespace halfstep::board
