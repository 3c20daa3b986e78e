// Paddle programs that are refused, by the ids of the errors.
#include <gtest/gtest.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/errors.h"
#include "tests/formats/evaluate.h"
#include "tests/formats/paddle_build.h"
#include "tests/support/error.h"

namespace halfstep::formats::paddle {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::name_of;
using onnx::test::bound;
using test::ProgramText;

Diagnostic refusal(const ProgramText& text, const std::string& parameters = "") {
  const std::string program = text.text();
  return diagnostic_of(
      [&] { parse(test::bytes_of(program), test::bytes_of(parameters), "m.pdmodel")->import(bound()); });
}

Diagnostic pir_refusal(const std::string& program) {
  return diagnostic_of([&] { parse(test::bytes_of(program), {}, "m.json")->import(bound()); });
}

TEST(PaddleRefusals, OfFiles) {
  EXPECT_EQ(pir_refusal("nothing"), errors::not_paddle_program("m.json"));
  std::string newer = test::pir(test::data());
  newer.replace(newer.find("\"version\":4"), 11, "\"version\":99");
  EXPECT_EQ(pir_refusal(newer), errors::program_version_not_supported("m.json", 99, 6));
  EXPECT_EQ(pir_refusal(R"({"base_code":{"magic":"pir","version":4}})"), errors::json_key_missing("m.json", "program"));
  std::string large = R"({"base_code":{"magic":"pir","version":4}})";
  large.resize((size_t{256} << 20) + 1, ' ');
  EXPECT_EQ(pir_refusal(large), errors::json_too_large("m.json", large.size(), size_t{256} << 20));
}

TEST(PaddleRefusals, OfPorts) {
  const std::string unnamed = R"({"#":"1.data","A":[],"I":[],"O":[{"%":1,"TT":)" + test::type_text("2,3") + "}]}";
  EXPECT_EQ(pir_refusal(test::pir(unnamed)).entry, &errors::port_wrong_entry);
  std::string again = test::fetch(2);
  again.replace(again.find("\"%\":9"), 5, "\"%\":8");
  const Diagnostic twice =
      pir_refusal(test::pir(test::data() + "," + test::op("1.relu") + "," + test::fetch(2) + "," + again));
  EXPECT_EQ(twice, errors::port_position_twice(twice.where, "outputs", 0));
  const Diagnostic list = pir_refusal(
      test::pir(test::data() + R"(,{"#":"0.split","A":[],"I":[{"%":1}],"O":[{"%":5},{"%":6}]},)" + test::fetch(5)));
  EXPECT_EQ(list, errors::list_too_short(list.where, 2, 0, 1));
  ProgramText text;
  ProgramText::integer(text.op("feed", {{"X", "feed"}}, {{"Out", "gone"}}), "col", 1);
  EXPECT_EQ(refusal(text), errors::fed_value_unknown("m.pdmodel", "gone"));
}

TEST(PaddleRefusals, OfParameters) {
  ProgramText text;
  text.var("w", {3}, 5, true);
  std::string parameters = test::record({1, 2, 3}, {3});
  parameters[20] = '\xff';
  const Diagnostic found = refusal(text, parameters);
  EXPECT_EQ(found.entry, &errors::parameters_description_entry);
  EXPECT_TRUE(found.where.starts_with("m.pdmodel.pdiparams: parameter 'w': byte ")) << found.where;
}

/// The block computes v = relu(x) when the fed `c` holds.
ProgramText conditional() {
  ProgramText text;
  text.var("c", {1}, 0), text.var("v", {2, 3}), text.var("m", {1}, 2), text.var("z", {2, 3});
  ProgramText::integer(text.op("feed", {{"X", "feed"}}, {{"Out", "c"}}), "col", 1);
  auto& op = text.op("conditional_block", {{"Cond", "c"}, {"Input", "x"}}, {{"Out", "v"}});
  auto& inside = ProgramText::integer(op, "sub_block", 0);
  inside.set_type(8);
  inside.set_block_idx(1);
  auto& block = *text.desc.add_blocks();
  block.set_idx(1);
  auto& relu = *block.add_ops();
  relu.set_type("relu");
  for (auto [slots, slot, value] :
       {std::tuple(relu.mutable_inputs(), "X", "x"), {relu.mutable_outputs(), "Out", "v"}}) {
    auto& added = *slots->Add();
    added.set_parameter(slot);
    added.add_arguments(value);
  }
  return text;
}

TEST(PaddleRefusals, OfValuesBehindConditions) {
  ProgramText read = conditional();
  read.op("relu", {{"X", "v"}}, {{"Out", "z"}});
  read.fetch("z");
  EXPECT_EQ(refusal(read), errors::value_behind_condition("m.pdmodel: node 'z': relu", "v"));
  ProgramText selected = conditional();
  ProgramText::integer(selected.op("cast", {{"X", "c"}}, {{"Out", "m"}}), "out_dtype", 2);
  auto& op = selected.op("select_input", {{"X", "v"}, {"Mask", "m"}}, {{"Out", "z"}});
  op.mutable_inputs(0)->add_arguments("x");
  selected.fetch("z");
  EXPECT_EQ(refusal(selected), errors::selection_not_supported("m.pdmodel: node 'z': select_input",
                                                               "'x', which no conditional block computes"));
}

/// A constant of one element.
std::string full(int id, const std::string& dtype, const std::string& value) {
  return R"({"#":"1.full","A":[{"N":"shape","AT":{"#":"1.a_intarray","D":[1]}},{"N":"value","AT":{"#":"0.a_f64","D":)" +
         value + R"(}},{"N":"dtype","AT":{"#":"1.a_dtype","D":")" + dtype + R"("}}],"I":[],"O":[{"%":)" +
         std::to_string(id) + R"(,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_bool"},[1],"NCHW",[],0]}}]})";
}

TEST(PaddleRefusals, OfValuesThatAreNotThere) {
  const std::string branch =
      R"({"#":"r","blocks":[{"#":"b","args":[],"ops":[{"#":"2.yield","A":[],"I":[{"%":0}],"O":[]}]}]})";
  const std::string choice = R"({"#":"1.if","A":[],"I":[{"%":6}],"O":[{"%":5,"TT":)" + test::type_text("2,3") +
                             R"(}],"regions":[)" + branch + "," + branch + "]}";
  const Diagnostic found = pir_refusal(test::pir(test::data() + "," + full(6, "bool", "1.0") + "," + choice + "," +
                                                 test::op("1.relu", "", R"({"%":5})") + "," + test::fetch(2)));
  EXPECT_EQ(found.entry, &errors::reads_unsupported_output_entry) << found.message();
  ProgramText text;
  text.var("m", {1}, 2), text.var("z", {2, 3});
  auto& mask = text.op("fill_constant", {}, {{"Out", "m"}});
  auto& shape = ProgramText::integer(mask, "shape", 0);
  shape.set_type(3);
  shape.add_ints(1);
  ProgramText::integer(mask, "dtype", 2);
  auto& value = ProgramText::integer(mask, "value", 0);
  value.set_type(1);
  value.set_f(5);
  text.op("select_input", {{"X", "x"}, {"Mask", "m"}}, {{"Out", "z"}});
  text.fetch("z");
  EXPECT_EQ(refusal(text), errors::mask_out_of_range("m.pdmodel: node 'z': select_input", "[5]", 1));
}

}  // namespace
}  // namespace halfstep::formats::paddle
