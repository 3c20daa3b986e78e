// Networks that cannot be exported to C, by the ids of the errors.
#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/formats/c/body.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/c/c_text.h"
#include "halfstep/formats/c/errors.h"
#include "tests/support/error.h"

namespace halfstep::formats::c {
namespace {

using test::diagnostic_of;

/// A program of these lines on the codes q, u8 or u16, of x.
Model program(const std::string& extents, const std::string& lines, const std::string& codes = "") {
  Model model;
  model.graph = parse("graph g(x: f32[" + extents + R"(]) {
  const @s: f32[1]
  const @z: i32[1]
  const @fine: i32[256]
  const @one: i32[1]
  const @row: i32[128]
  const @bias: i64[128]
  q = quantize(x=x, scale=@s, zero_point=@z) {)" +
                          codes + "}\n" + lines + "  y = dequantize(x=t, scale=@s, zero_point=@z)\n  return y\n}\n",
                      "net.ir");
  model.tensors = {{"s", Tensor::scalar(0.5F)},         {"z", Tensor::scalar(int32_t{0})},
                   {"fine", Tensor(DType::i32, {256})}, {"one", Tensor(DType::i32, {1})},
                   {"row", Tensor(DType::i32, {128})},  {"bias", Tensor(DType::i64, {128})}};
  return model;
}

Diagnostic refusal(const Model& model) {
  return diagnostic_of([&] { c_program(model, {.name = "net"}); });
}

TEST(CRefusals, OfSizes) {
  const Model model = program("65536, 65536", "  t = integer_add(a=q, b=q) {shift: 31}\n");
  Identifiers names;
  Body body(model, names);
  EXPECT_EQ(diagnostic_of([&] { body.write(model.graph.value("t")); }),
            errors::c_too_many_elements("t_y", int64_t{1} << 32, INT32_MAX));
  const Model crossed =
      program("1, 2, 3, 2, 3, 2, 3", R"(  r = slice(x=q) {starts: [0, 0, 0], ends: [1, 1, 1], axes: [1, 3, 5]}
  t = integer_add(a=q, b=r) {a_multiplier: 1073741824, b_multiplier: 1073741824, shift: 31}
)");
  const Diagnostic axes = refusal(crossed);
  EXPECT_EQ(axes, placed(errors::c_too_many_axes(axes.where, "operands that are repeated", 6, 4), "t", ""));
}

TEST(CRefusals, OfTables) {
  const char* const kWide = "code_type: \"u16\", code_max: 65535";
  const Model softmax = program("1, 8",
                                std::string("  t = integer_softmax(x=q, fine=@fine, coarse=@one) {multiplier: "
                                            "1, shift: 15, ") +
                                    kWide + "}\n",
                                kWide);
  EXPECT_EQ(refusal(softmax).entry, &errors::c_softmax_table_entry);
  const Model norm =
      program("1, 128",
              std::string("  t = integer_norm(x=q, factor=@row, bias=@bias) {epsilon: 0, guard: 16, shift: 34, ") +
                  kWide + "}\n",
              kWide);
  EXPECT_EQ(refusal(norm).entry, &errors::c_norm_too_wide_entry);
  const Model pool = program("1, 2, 4, 4",
                             "  t = integer_avg_pool2d(x=q) {kernel: [2, 2], stride: [2, 2], pad: [1, 1, 1, "
                             "1], count_include_pad: false, multiplier: 1073741824, shift: 31}\n");
  EXPECT_EQ(refusal(pool).entry, &errors::c_window_count_entry);
}

TEST(CRefusals, OfTypes) {
  EXPECT_EQ(diagnostic_of([] { c_type(DType::f64); }), errors::c_type("f64"));
}

}  // namespace
}  // namespace halfstep::formats::c
