#include "halfstep/core/ir/shapes/infer.h"

#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

constexpr const char* kWhere = "net.ir:3: node 'n'";
constexpr TypeClass kFloat{"float", dtype_set({DType::f32, DType::f64})};

const OpInfo& toy() {
  static const OpInfo info = [] {
    OpInfo made;
    made.name = "toy";
    made.inputs = {{.name = "x"}, {.name = "w"}, {.name = "b", .optional = true}};
    return made;
  }();
  return info;
}

/// x f32[2, 3, ?], w f32[4, 3], no b.
class InferenceTest : public testing::Test {
 protected:
  Type x_{DType::f32, {2, 3, kUnknown}}, w_{DType::f32, {4, 3}};
  std::vector<const Type*> in_ = {&x_, &w_, nullptr};
  Attributes attributes_ = {{"axis", int64_t{-1}}, {"to", std::string("u9")}, {"pad", std::vector<int64_t>{1, 2}}};
  OpSite site_{kWhere, toy(), in_, attributes_};
  Inference infer_{site_};
};

TEST_F(InferenceTest, BindsExtentsAndComparesThem) {
  Dim n = Dim::unknown(), c = Dim::unknown(), o = Dim::unknown();
  infer_.bind(infer_.required(0), {{"n", n}, {"c", c}}, true);
  infer_.bind(infer_.required(1), {{"o", o}, {"c", c}});
  infer_.bind(infer_.optional(2), {{"o", o}});
  EXPECT_EQ(n.value(), 2);
  EXPECT_EQ(c.value(), 3);
  EXPECT_EQ(o.value(), 4);
  EXPECT_EQ(diagnostic_of([&] {
              infer_.bind(infer_.required(1), {{"c", c}, {"o", o}});
            }),
            errors::operand_dims(kWhere, "toy", "dim 0 of w", 4, "c = 3"));
  EXPECT_EQ(diagnostic_of([&] {
              infer_.bind(infer_.required(1), {{"2", Dim(2)}, {"o", o}});
            }),
            errors::operand_dims(kWhere, "toy", "dim 0 of w", 4, 2));
  EXPECT_EQ(diagnostic_of([&] {
              infer_.bind(infer_.required(0), {{"n", n}});
            }),
            errors::operand_dims(kWhere, "toy", "x", "3 dims", 1));
}

TEST_F(InferenceTest, UnknownExtentIsBoundByTheNextOne) {
  Dim k = Dim::unknown();
  infer_.bind(infer_.required(0), {{"2", Dim(2)}, {"3", Dim(3)}, {"k", k}});
  EXPECT_FALSE(k.known());
  infer_.bind(infer_.required(1), {{"k", k}, {"3", Dim(3)}});
  EXPECT_EQ(k.value(), 4);
}

TEST_F(InferenceTest, Dtypes) {
  EXPECT_EQ(infer_.bind_dtype(infer_.required(0), kFloat), DType::f32);
  infer_.expect_dtype(infer_.optional(2), DType::i8);  // absent
  EXPECT_EQ(diagnostic_of([&] { infer_.expect_dtype(infer_.required(1), DType::f64); }),
            errors::operand_dtype(kWhere, "toy", "w", "f32", "f64"));
  EXPECT_EQ(diagnostic_of([&] {
              infer_.expect_class(infer_.required(1), {"codes", dtype_set({DType::u8, DType::u16})});
            }),
            errors::operand_dtype(kWhere, "toy", "w", "f32", "codes (u8, u16)"));
  EXPECT_EQ(diagnostic_of([&] { infer_.named_dtype("to"); }),
            errors::operand_dtype(kWhere, "toy", "to", "'u9'", "a dtype"));
}

TEST_F(InferenceTest, RuleFailsOnlyWhenCertainlyFalse) {
  const Dim axis = infer_.integer("axis");
  infer_.rule("c1", "k >= 1", Dim::unknown() >= 1, {});
  EXPECT_EQ(diagnostic_of([&] {
              infer_.rule("c2", "axis >= 0", axis >= 0, {{"axis", axis}, {"b", Dim::unknown()}});
            }),
            errors::operator_rule(kWhere, "toy", "c2", "axis = -1, b = unknown", "axis >= 0"));
  const std::string_view bounds = "axis >= 0 - rank(x) and axis < rank(x)";
  EXPECT_EQ(diagnostic_of([&] {
              infer_.rule("c3", bounds, Truth::no, {{"axis", Dim(9)}, {"rank(x)", Dim(4)}});
            }),
            errors::operator_rule(kWhere, "toy", "c3", "axis = 9, rank(x) = 4", "-4 to 3"));
}

TEST_F(InferenceTest, OutputExtents) {
  EXPECT_EQ(infer_.dims("out", {3, Dim::unknown()}), (Dims{3, kUnknown}));
  EXPECT_EQ(diagnostic_of([&] {
              infer_.dims("out", {3, Dim(2) - 3});
            }),
            errors::output_dims(kWhere, "toy", "out", 1, -1));
}

TEST_F(InferenceTest, FunctionsOfExpressions) {
  const Operand x = infer_.required(0);
  EXPECT_EQ(rank_of(x).value(), 3);
  EXPECT_EQ(extent_of(x, Dim::exactly(-2)).value(), 3);
  EXPECT_FALSE(extent_of(x, 2).known());
  EXPECT_FALSE(extent_of(x, 3).known());
  EXPECT_FALSE(count_of(x).known());
  EXPECT_EQ(count_of(infer_.required(1)).value(), 12);
  EXPECT_FALSE(rank_of(infer_.optional(2)).known());
  const std::vector<int64_t>& pad = infer_.integers("pad");
  EXPECT_EQ(element(pad, 1).value(), 2);
  EXPECT_FALSE(element(pad, 2).known());
  EXPECT_EQ(smallest(pad).value(), 1);
  EXPECT_EQ(largest(pad).value(), 2);
  EXPECT_FALSE(smallest({}).known());
  EXPECT_EQ(length_of(pad).value(), 2);
}

TEST_F(InferenceTest, OperandsMustBeThere) {
  EXPECT_EQ(diagnostic_of([&] { infer_.required(2); }), errors::operand_missing(kWhere, "toy", "b"));
  const OpSite two{"w", toy(), std::span(in_).first(2), attributes_};
  EXPECT_EQ(diagnostic_of([&] { Inference infer(two); }), errors::operand_count("w", "toy", 2, 3));
}

}  // namespace
}  // namespace halfstep
