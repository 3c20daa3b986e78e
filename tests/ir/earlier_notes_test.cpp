// Files of versions 1 and 2, whose notes become metadata. tests/compat has complete files of these versions.
#include "halfstep/core/ir/metadata/earlier_notes.h"

#include "halfstep/core/ir/source_file.h"
#include "halfstep/core/ir/text/parse.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

constexpr const char* kFloat = "graph g(x: f32[2]) { return x }";

Metadata of(const std::map<std::string, std::string>& notes) {
  return detail::metadata_of_notes(notes, parse(kFloat), "m");
}

/// All notes that existed, in their original format.
TEST(EarlierNotes, BecomeFields) {
  const Metadata found = of({
      {"platform", "platform: chip\n"},
      {"input.preprocess", R"({"size":[7,8],"resize":9,"crop":5,"ignore_orientation":true,"scale":0.5,"mean":[0.25],)"
                           R"("std":[2.0],"reverse_channels":true,"channels_last":true})"},
      {"given_names", "a\tb\nc\td e\n"},
      {"quantizers_as_arithmetic", R"("one", "caf\xc3\xa9 \"2\"")"},
      {"closed_extents", "inputs have fixed extents"},
      {"float_operators", R"({"s":"no codes"})"},
      {"quantizer_reasons", R"({"x":"rule"})"},
      {"deviations", R"({"y":"two"})"},
      {"edge_scales", R"(["s.scale"])"},
      {"normalizations",
       R"([{"bias":"b","epsilon":0.5,"layer":"c","live":true,"mean":"m","momentum":0.25,"raw_bias":"r",)"
       R"("raw_weight":"q","scale":"s","shift":"t","variance":"v","weight":"w"}])"},
      {"learned_quantizers", R"([{"choice":"c","high":"h","kind":"pact","log2_scale":"l","low":"o","number":0.5,)"
                             R"("offset":"f","raw":"r","scale":"s","weight":"w","zero_point":"z"}])"},
      {"calibrated_lengths", R"({"x":[-1,16]})"},
      {"code_formats", R"({"v":[0.5,1,2,3]})"},
      {"table.gate", "sigmoid 0.5 0.25 3 0.125 -4"},
      {"train.epoch", "3"},
      {"train.network", "graph n"},
      {"train.start", "0123"},
      {"train.data", "4567 my digits"},
      {"train.settings", "batch: 32\nteachers: \nrecipe: a: b\n"},
      {"train.course", R"({"samples":17,"has_labels":true,"standings":[{"loss":0.5,"accuracy":0.25},{"loss":0.125}],)"
                       R"("teacher":{"loss":2.0,"agreement":1.0},"best_epoch":1,"ended_below":false})"},
      {"train.live", "live:"},
      {"train.average", "average:"},
      {"train.best", "best:"},
      {"repair.run", "blocks"},
      {"producer", "a tool"},
  });
  Metadata expected;
  expected.platform = PlatformRecord("platform: chip\n");
  expected.preprocess = PreprocessRecord{{7, 8}, 9, 5, true, 0.5F, {0.25F}, {2.0F}, true, true};
  expected.given_names = {{"a", "b"}, {"c", "d e"}};
  expected.quantizers_as_arithmetic = {"one", "caf\\xc3\\xa9 \"2\""};
  expected.closed_extents = "inputs have fixed extents";
  expected.float_operators = {{"s", "no codes"}};
  expected.quantizer_reasons = {{"x", "rule"}};
  expected.deviations = {{"y", "two"}};
  expected.first_last_scales = FirstLastScales{"s.scale"};
  expected.normalizations = {{"c", "w", "b", "q", "r", "s", "t", "m", "v", 0.5, 0.25, true}};
  expected.learned_quantizers = {{QuantizerKind::pact, "s", "z", "f", "o", "h", "l", "w", "r", "c", 0.5}};
  expected.calibrated_lengths = {{"x", {kUnknown, 16}}};
  expected.code_formats = {{"v", {0.5F, 1, 2, 3}}};
  expected.tables = {{"gate", {"sigmoid", 0.5, 0.25F, 3, 0.125F, -4}}};
  expected.training_run = TrainingRun{
      .epoch = 3,
      .network = "graph n",
      .start = "0123",
      .data_name = "my digits",
      .data_digest = "4567",
      .settings = {{"batch", "32"}, {"teachers", ""}, {"recipe", "a: b"}},
      .history = {17, true, {{0.25, 0.5}, {std::nullopt, 0.125}}, 1, ValidationResult{1.0, 2.0}},
      .live = "live:",
      .average = "average:",
      .best = "best:",
  };
  expected.repair_run = "blocks";
  expected.notes = {{"producer", "a tool"}};
  EXPECT_EQ(found, expected);
}

TEST(EarlierNotes, DamagedOnesAreNamed) {
  const auto expect = [](const char* note, const char* text, const std::string& found, const char* expected) {
    EXPECT_EQ(diagnostic_of([&] {
                of({{note, text}});
              }),
              errors::metadata_value(fmt::format("m: note '{}'", note), found, expected));
  };
  expect("normalizations", "{}", "{}", "a list");
  expect("float_operators", "[1", "\"[1\"", "JSON");
  expect("edge_scales", "7", "7", "a list");
  expect("given_names", "a b\n", "\"a b\"", "two names with a tab between them");
  expect("quantizers_as_arithmetic", "\"a\" b", "\"[\\\"a\\\" b]\"", "JSON");
  expect("code_formats", "[]", "[]", "an object");
  expect("code_formats", R"({"x":[1,2]})", "[1,2]", "a list of four numbers");
  expect("code_formats", R"({"x":[1,0.5,2,3]})", "0.5", "an integer of 64 bits");
  expect("table.gate", "sigmoid 1", "\"sigmoid 1\"", "a function with its number and the codes of two sides");
  expect("train.epoch", "soon", "\"soon\"", "JSON");
  expect("train.settings", "batch 32", "\"batch 32\"", "a name and a value with ': ' between them");
  expect("train.course", "{}", "{}", "an object with 'standings'");
  expect("train.course", R"({"standings":[7]})", "7", "an object");
}

/// The version of a file decides how it is read, whatever keys it has.
TEST(EarlierNotes, AreReadByTheVersionOfTheFile) {
  io::TensorFile file;
  file.metadata = {{"halfstep.note.a", "b"}, {"halfstep.source.note.c", "d"}, {"halfstep.metadata", "{}"}};
  const Graph graph = parse(kFloat);
  const auto notes = [&](const char* prefix) { return detail::metadata_in(file, 2, prefix, graph, "m").notes; };
  EXPECT_EQ(notes("halfstep."), (std::map<std::string, std::string>{{"a", "b"}}));
  EXPECT_EQ(notes("halfstep.source."), (std::map<std::string, std::string>{{"c", "d"}}));
  EXPECT_EQ(diagnostic_of([&] { detail::metadata_in(file, 3, "halfstep.source.", graph, "m"); }),
            errors::not_a_model_file("m", "halfstep.source.metadata"));
}

}  // namespace
}  // namespace halfstep
