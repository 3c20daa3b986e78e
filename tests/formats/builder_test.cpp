// Nodes that every importer refuses, in any file format.
#include "halfstep/formats/builder/builder.h"

#include <gtest/gtest.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/number_steps.h"
#include "halfstep/formats/builder/record_form.h"
#include "halfstep/formats/builder/window_attributes.h"
#include "tests/support/error.h"

namespace halfstep::formats {
namespace {

using test::diagnostic_of;

/// A node without attributes.
class PlainNode : public Node {
 public:
  const std::string& name() const override { return name_; }
  std::string title() const override { return "Plain"; }
  const std::string& where() const override { return where_; }
  std::optional<Attribute> attribute_as(const AttributeInfo&, const std::string&) const override { return {}; }
  std::string left_over(const Names&) const override { return ""; }

 private:
  std::string name_ = "n", where_ = "m: node 'n'";
};

struct Parts {
  Binding binding;
  Model model;
};

/// A builder with public access to its steps.
class Open : private Parts, public Builder {
 public:
  Open() : Builder("m", Parts::binding, Parts::model, nullptr) {}
  using Builder::attempt;
  using Builder::name_result;
  using Builder::set_outputs;
};

const std::string kWhere = "m: node 'n'";

TEST(Builder, RefusesOperatorsThatAreNotThereAndOutputsThatNothingGives) {
  Open builder;
  EXPECT_EQ(diagnostic_of([&] { builder.make(PlainNode(), "nonsense", {}); }),
            errors::operator_unavailable(kWhere, "nonsense"));
  EXPECT_EQ(diagnostic_of([&] { builder.set_outputs({Operand()}, {"y"}); }), errors::output_missing("m", "y"));
  EXPECT_EQ(diagnostic_of([&] { builder.contents(Builder::lost()); }), errors::depends_on_unsupported());
}

TEST(Builder, LimitsNodesAndTheirConstants) {
  Open builder;
  const auto attempt_all = [&] {
    for (int64_t i = 0; i <= 400'000; ++i)
      builder.attempt(
          PlainNode(), false, [] {}, [] { return false; }, [] {});
  };
  EXPECT_EQ(diagnostic_of(attempt_all), errors::too_many_nodes("m", 400'000));
  Operand large = Builder::known(Tensor::uninitialized(DType::u8, {int64_t{1} << 28}), "large");
  const auto name_all = [&] {
    for (int i = 0; i < 5; ++i) builder.name_result(PlainNode(), "r", large);
  };
  EXPECT_EQ(diagnostic_of(name_all), errors::constants_too_large(kWhere, 1024));
}

/// An error has the place of the innermost node, unless it has its own.
TEST(Builder, GivesErrorsTheirPlace) {
  Open builder;
  const auto failing = [&](const Diagnostic& wrong) {
    return diagnostic_of([&] {
      builder.attempt(
          PlainNode(), true, [&] { fail(wrong); }, [] { return false; }, [] {});
    });
  };
  EXPECT_EQ(failing(errors::part_missing("", "an input")), errors::part_missing(kWhere, "an input"));
  EXPECT_EQ(failing(errors::part_missing("m: node 'a'", "an input")), errors::part_missing("m: node 'a'", "an input"));
  EXPECT_EQ(failing(errors::not_an_integer("", 0.5)), errors::not_an_integer(kWhere, 0.5));
}

Tensor real(double value) { return filled(DType::f32, {}, value); }

TEST(Builder, RefusesNumbersThatAreNoneOfTheirType) {
  EXPECT_EQ(diagnostic_of([] { integer(0.5); }), errors::not_an_integer("", 0.5));
  EXPECT_EQ(diagnostic_of([] { integers_of(real(1.5), "t"); }), errors::not_an_integer("t", 1.5));
  EXPECT_EQ(diagnostic_of([] { filled(DType::i8, {}, 200); }), errors::number_not_in_type(200, "i8"));
}

TEST(Builder, RefusesRanges) {
  const PlainNode node;
  EXPECT_EQ(diagnostic_of([&] { range(node, real(0), real(1), real(0)); }), errors::step_is_zero(kWhere));
  EXPECT_EQ(diagnostic_of([&] { range(node, real(0), filled(DType::i64, {}, 1), real(1)); }),
            errors::range_types_differ(kWhere, "i64[]", "f32"));
  EXPECT_EQ(diagnostic_of([&] { range(node, real(0), real(1e9), real(1)); }),
            errors::constant_too_large(kWhere, "a range of 1000000000 numbers", 1 << 24));
  const Tensor truth(DType::boolean, {});
  EXPECT_EQ(diagnostic_of([&] { range(node, truth, truth, truth); }),
            errors::element_type_not_supported(kWhere, "bool"));
}

TEST(Builder, RefusesWindows) {
  const auto refusal = [](const Dims& dims, WindowSpec spec) {
    return diagnostic_of([&] { window_of(PlainNode(), dims, std::move(spec)); });
  };
  const Dims image = {1, 2, 8, 8};
  EXPECT_EQ(refusal({1, 2}, {}), errors::wrong_extents(kWhere, "[1, 2]", "at least 3 extents"));
  EXPECT_EQ(refusal(image, {{3}, {}, {}, {}}).entry, &errors::wrong_count_entry);
  EXPECT_EQ(refusal(image, {{3, 3}, {1}, {}, {}}), errors::wrong_count(kWhere, "numbers in attribute strides", 1, 2));
  EXPECT_EQ(refusal(image, {{0, 3}, {}, {}, {}}), errors::window_number(kWhere, "window", "[0, 3]", 1, 1 << 24));
  EXPECT_EQ(refusal(image, {{3, 3}, {}, {}, {INT64_MAX, 0, 0, 0}}).entry, &errors::window_number_entry);
  EXPECT_EQ(refusal({1, 2, kUnknown, 8}, {{3, 3}, {2, 2}, {}, {}, Padding::same_upper}),
            errors::depends_on_extents("automatic padding"));
}

/// Inputs that are attributes in Halfstep.
TEST(Builder, RefusesInputsThatAreNoAttributes) {
  Open builder;
  const auto refusal = [&](const char* op, const ForeignInfo& entry, const Tensor& second) {
    const RecordEntry record{&require_operator(op, "m"), &entry};
    const std::vector<Operand> inputs = {Builder::known(real(1), "x"), Builder::known(second, "a")};
    return diagnostic_of([&] { builder.by_entry(PlainNode(), inputs, record); });
  };
  const Tensor two(DType::i64, {2});
  EXPECT_EQ(refusal("cast", {.format = "onnx", .op = "Cast", .names = {}, .inputs = {{"to", 1}}}, real(1)),
            errors::tensor_as_word(kWhere + ": input 1"));
  EXPECT_EQ(refusal("softmax", {.format = "onnx", .op = "Softmax", .names = {}, .inputs = {{"axis", 1}}}, two),
            errors::attribute_input_not_one_element(kWhere + ": input 1", "i64[2]"));
  EXPECT_EQ(refusal("cast", {.format = "onnx", .op = "Cast", .names = {}}, two),
            errors::attribute_required(kWhere, "to"));
}

}  // namespace
}  // namespace halfstep::formats
