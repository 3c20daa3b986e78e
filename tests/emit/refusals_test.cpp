// Networks that have no form in C, by the names of the errors.
#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/c/c_text.h"
#include "halfstep/formats/c/errors.h"
#include "tests/support/error.h"

namespace halfstep::emit {
namespace {

using test::diagnostic_of;
using test::name_of;

/// A program of these lines on the codes q, u8 or u16, of x.
Model program(const std::string& extents, const std::string& lines, const std::string& codes = "") {
  Model model;
  model.graph = parse("graph g(x: f32[" + extents + R"(]) {
  const @s: f32[1]
  const @z: i32[1]
  const @fine: i32[256]
  const @table: i32[1]
  q = quantize(x=x, scale=@s, zero_point=@z) {)" +
                          codes + "}\n" + lines + "  y = dequantize(x=t, scale=@s, zero_point=@z)\n  return y\n}\n",
                      "net.ir");
  model.tensors = {{"s", Tensor::scalar(0.5F)},
                   {"z", Tensor::scalar(int32_t{0})},
                   {"fine", Tensor(DType::i32, {256})},
                   {"table", Tensor(DType::i32, {1})},
                   {"bias", Tensor(DType::i64, {8})}};
  return model;
}

Diagnostic refusal(const Model& model) {
  return diagnostic_of([&] { c_program(model, {.name = "net"}); });
}

TEST(CRefusals, OfAxes) {
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
                                std::string("  t = integer_softmax(x=q, fine=@fine, coarse=@table) {multiplier: "
                                            "1, shift: 15, ") +
                                    kWide + "}\n",
                                kWide);
  EXPECT_EQ(refusal(softmax).entry, &errors::c_softmax_table_entry);
}

TEST(CRefusals, OfTypes) {
  EXPECT_EQ(diagnostic_of([] { c_type(DType::f64); }), errors::c_type("f64"));
}

}  // namespace
}  // namespace halfstep::emit
