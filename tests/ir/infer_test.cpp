#include "halfstep/core/ir/shapes/infer.h"

#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

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
  OpSite site_{"net.ir:3: node 'n'", toy(), in_, attributes_};
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
  EXPECT_EQ(error_of([&] {
              infer_.bind(infer_.required(1), {{"c", c}, {"o", o}});
            }),
            "net.ir:3: node 'n': toy dims: dim 0 of w is 4, expected c = 3");
  EXPECT_EQ(error_of([&] {
              infer_.bind(infer_.required(1), {{"2", Dim(2)}, {"o", o}});
            }),
            "net.ir:3: node 'n': toy dims: dim 0 of w is 4, expected 2");
  EXPECT_EQ(error_of([&] {
              infer_.bind(infer_.required(0), {{"n", n}});
            }),
            "net.ir:3: node 'n': toy dims: x has 3 dims, expected 1");
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
  EXPECT_EQ(error_of([&] { infer_.expect_dtype(infer_.required(1), DType::f64); }),
            "net.ir:3: node 'n': toy type: w is f32, expected f64");
  EXPECT_EQ(error_of([&] {
              infer_.expect_class(infer_.required(1), {"codes", dtype_set({DType::u8, DType::u16})});
            }),
            "net.ir:3: node 'n': toy type: w is f32, expected codes (u8, u16)");
  EXPECT_EQ(error_of([&] { infer_.named_dtype("to"); }), "net.ir:3: node 'n': toy type: to is 'u9', expected a dtype");
}

TEST_F(InferenceTest, RuleFailsOnlyWhenCertainlyFalse) {
  const Dim axis = infer_.integer("axis");
  infer_.rule("c1", "k >= 1", Dim::unknown() >= 1, {});
  EXPECT_EQ(error_of([&] {
              infer_.rule("c2", "axis >= 0", axis >= 0, {{"axis", axis}, {"b", Dim::unknown()}});
            }),
            "net.ir:3: node 'n': toy c2: axis is -1, b is unknown, expected axis >= 0");
  const std::string_view bounds = "axis >= 0 - rank(x) and axis < rank(x)";
  EXPECT_EQ(error_of([&] {
              infer_.rule("c3", bounds, Truth::no, {{"axis", Dim(9)}, {"rank(x)", Dim(4)}});
            }),
            "net.ir:3: node 'n': toy c3: axis is 9, rank(x) is 4, expected -4 to 3");
}

TEST_F(InferenceTest, OutputExtents) {
  EXPECT_EQ(infer_.dims("out", {3, Dim::unknown()}), (Dims{3, kUnknown}));
  EXPECT_EQ(error_of([&] {
              infer_.dims("out", {3, Dim(2) - 3});
            }),
            "net.ir:3: node 'n': toy dims: dim 1 of out would be -1");
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
  EXPECT_EQ(error_of([&] { infer_.required(2); }), "net.ir:3: node 'n': toy has no b");
  const OpSite two{"w", toy(), std::span(in_).first(2), attributes_};
  EXPECT_EQ(error_of([&] { Inference infer(two); }), "w: toy has 2 operands, expected 3");
}

}  // namespace
}  // namespace halfstep
