// Metadata in files: every field survives a round trip, and values that no version writes are refused.
#include <nlohmann/json.hpp>

#include "halfstep/core/ir/metadata/metadata_json.h"
#include "halfstep/core/ir/text/parse.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

/// Every field of every part has another value than its default.
Metadata full() {
  Metadata metadata;
  metadata.stage = Stage::prepared;
  metadata.platform = PlatformRecord("platform: chip\n");
  metadata.preprocess = PreprocessRecord{{7, 8}, 9, 5, true, 0.1F, {0.2F, 0.3F}, {0.4F}, true, true};
  metadata.given_names = {{"ours", "their\tname\n"}};
  metadata.quantizers_as_arithmetic = {"caf\xc3\xa9", "b"};
  metadata.closed_extents = "inputs have fixed extents";
  metadata.float_operators = {{"softmax", "it has no codes"}};
  metadata.quantizer_reasons = {{"x", "rule 3"}};
  metadata.deviations = {{"y", "two quantizers"}};
  metadata.first_last_scales = FirstLastScales{"x.scale"};
  metadata.normalizations = {{"conv", "w", "b", "w.raw", "b.raw", "s", "t", "m", "v", 1e-5, 0.1, true}};
  metadata.learned_quantizers = {{QuantizerKind::qdrop,
                                  "s",
                                  "z",
                                  "offset",
                                  "low",
                                  "high",
                                  "log2",
                                  "w",
                                  "w.raw",
                                  "choice",
                                  0.25,
                                  "Mine",
                                  {{"x.q", "graph g(x: f32[2]) { return x }"}},
                                  {{"step", "x.step"}},
                                  true}};
  metadata.calibrated_lengths = {{"x", {kUnknown, 16}}};
  metadata.code_formats = {{"x.q", {0.1F, -3, -128, 127}}};
  metadata.tables = {{"gate", {"sigmoid", 0.3, 0.1F, -4, 0.7F, 6}}};
  metadata.training_run = TrainingRun{
      .epoch = 3,
      .network = "graph g",
      .start = "0123",
      .data_name = "digits",
      .data_digest = "4567",
      .settings = {{"teachers", ""}, {"batch", "32"}},
      .history = {17, true, {{0.5, 1.0 / 3}, {std::nullopt, 0.25}}, 1, ValidationResult{0.75, 0.125}},
      .live = "live:",
      .average = "average:",
      .best = "best:",
  };
  metadata.repair_run = "blocks from network 89";
  metadata.notes = {{"producer", "a tool"}};
  return metadata;
}

Metadata parsed(const std::string& text) { return detail::parse_metadata(text, "m"); }

/// A new member of a struct fails to compile here until the test covers it.
TEST(Metadata, TheTestHasEveryField) {
  const Metadata metadata = full(), none;
  const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = metadata;
  const auto& [a0, b0, c0, d0, e0, f0, g0, h0, i0, j0, k0, l0, m0, n0, o0, p0, q0, r0] = none;
  EXPECT_TRUE(a != a0 && !(b == b0) && c != c0 && d != d0 && e != e0 && f != f0 && g != g0 && h != h0 && i != i0);
  EXPECT_TRUE(j != j0 && k != k0 && l != l0 && m != m0 && n != n0 && o != o0 && p != p0 && q != q0 && r != r0);
}

TEST(Metadata, EveryFieldComesBack) {
  const std::string text = detail::metadata_text(full());
  EXPECT_EQ(parsed(text), full());
  EXPECT_EQ(detail::metadata_text(parsed(text)), text);
  EXPECT_EQ(detail::metadata_text({}), R"({"stage":"float"})");
  EXPECT_EQ(parsed(R"({"stage":"float"})"), Metadata());
  EXPECT_EQ(parsed(R"({"stage": "float", "first_last_scales": []})").first_last_scales, FirstLastScales());
}

TEST(Metadata, NumbersComeBackToTheBit) {
  Metadata metadata;
  metadata.training_run =
      TrainingRun{.history = {.validation_results = {{{}, std::numeric_limits<double>::quiet_NaN()}}}};
  metadata.code_formats["x"].scale = 1e-45F;
  metadata.code_formats["x"].code_max = std::numeric_limits<int64_t>::max();
  metadata.code_formats["x"].code_min = std::numeric_limits<int64_t>::min();
  const Metadata again = parsed(detail::metadata_text(metadata));
  EXPECT_TRUE(std::isnan(again.training_run->history.validation_results[0].loss));
  EXPECT_EQ(again.code_formats, metadata.code_formats);
}

Diagnostic error(const std::string& text) {
  return diagnostic_of([&] { parsed(text); });
}

/// Calls the function for each field of `json`, recursively.
void at_each(nlohmann::json& json, const nlohmann::json& whole, const std::function<void(nlohmann::json&)>& change) {
  for (auto& [key, value] : json.items()) {
    const nlohmann::json before = value;
    change(value);
    EXPECT_NE(error(whole.dump()), Diagnostic{}) << key << ": " << value;
    value = before;
    if (value.is_structured()) at_each(value, whole, change);
  }
}

TEST(Metadata, AValueOfAnotherTypeIsRefusedWhereverItIs) {
  nlohmann::json whole = nlohmann::json::parse(detail::metadata_text(full()));
  at_each(whole, whole, [](nlohmann::json& value) {
    value = value.is_string() ? nlohmann::json(7) : value.is_boolean() ? nlohmann::json(1) : nlohmann::json("text");
  });
}

TEST(Metadata, UnknownKeysAreRefused) {
  EXPECT_EQ(error(R"({"stage": "float", "nots": {}})"),
            errors::metadata_key_unknown("m", "nots", ", did you mean 'notes'?"));
  for (const char* part : {"preprocess", "training_run"})
    EXPECT_EQ(error(fmt::format(R"({{"stage": "float", "{}": {{"zzz": 1}}}})", part)),
              errors::metadata_key_unknown(fmt::format("m.{}", part), "zzz", ""));
  EXPECT_EQ(error(R"({"stage": "float", "normalizations": [{"zzz": 1}]})"),
            errors::metadata_key_unknown("m.normalizations", "zzz", ""));
  EXPECT_EQ(error(R"({"stage": "float", "code_formats": {"x": {"zzz": 1}}})"),
            errors::metadata_key_unknown("m.code_formats.x", "zzz", ""));
}

TEST(Metadata, WrongTypesAreNamed) {
  EXPECT_EQ(error("{"), errors::metadata_value("m", R"("{")", "JSON"));
  EXPECT_EQ(error("[]"), errors::metadata_value("m", R"([])", "an object"));
  EXPECT_EQ(error("{}"), errors::metadata_value("m.stage", R"(null)", "one of 3 names, such as 'float'"));
  EXPECT_EQ(error(R"({"stage": "gone"})"),
            errors::metadata_value("m.stage", R"("gone")", "one of 3 names, such as 'float'"));
  const auto of = [](const char* field, const char* value) {
    return error(fmt::format(R"({{"stage": "float", "{}": {}}})", field, value));
  };
  EXPECT_EQ(of("learned_quantizers", R"([{"kind": "lsqq"}])"),
            errors::metadata_value("m.learned_quantizers.kind", R"("lsqq")", "one of 12 names, such as 'fixed'"));
  EXPECT_EQ(of("tables", R"({"t": {"x_zero_point": 2147483648}})"),
            errors::metadata_value("m.tables.t.x_zero_point", R"(2147483648)", "an integer of 32 bits"));
  EXPECT_EQ(of("tables", R"({"t": {"x_zero_point": 0.5}})"),
            errors::metadata_value("m.tables.t.x_zero_point", R"(0.5)", "an integer of 32 bits"));
  EXPECT_EQ(of("calibrated_lengths", R"({"x": [18446744073709551615]})"),
            errors::metadata_value("m.calibrated_lengths.x", R"(18446744073709551615)", "an integer of 64 bits"));
  EXPECT_EQ(of("preprocess", R"({"size": [1, 2, 3]})"),
            errors::metadata_value("m.preprocess.size", R"([1,2,3])", "a list of two"));
}

// ---- the stage and other facts that a Model derives from metadata

Model plain() {
  Model model;
  model.graph = parse("graph g(x: f32[2]) {\n  param @s: f32[1]\n  return x\n}\n");
  model.tensors["s"] = Tensor::scalar(1.0F);
  return model;
}

Diagnostic refused(const std::function<void(Metadata&)>& change) {
  Model model = plain();
  check(model);
  change(model.metadata);
  return diagnostic_of([&] { check(model); });
}

TEST(Metadata, NumbersAreInRange) {
  const auto out = [](const std::string& field, const auto& found, const auto& expected) {
    return errors::metadata_out_of_range("graph 'g': metadata." + field, found, expected);
  };
  const char* above = "a finite number above 0";
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(refused([&](Metadata& m) { m.code_formats["x"].scale = scale; }),
              out("code_formats.x.scale", scale, above));
    EXPECT_EQ(refused([&](Metadata& m) { m.tables["t"].x_scale = scale; }), out("tables.t.x_scale", scale, above));
    EXPECT_EQ(refused([&](Metadata& m) { m.tables["t"].y_scale = scale; }), out("tables.t.y_scale", scale, above));
  }
  EXPECT_EQ(refused([](Metadata& m) { m.code_formats["x"].code_max = -1; }),
            out("code_formats.x.code_max", -1, "at least 0, the least code"));
  EXPECT_EQ(refused([](Metadata& m) { m.calibrated_lengths["x"] = {kUnknown, 4}; }), Diagnostic{});
  EXPECT_EQ(refused([](Metadata& m) {
              m.calibrated_lengths["x"] = {4, -2};
            }),
            out("calibrated_lengths.x", -2, "at least -1"));
  EXPECT_EQ(refused([](Metadata& m) { m.training_run = TrainingRun{.epoch = -1}; }),
            out("training_run.epoch", -1, "at least 0"));
  EXPECT_EQ(refused([](Metadata& m) { m.training_run = TrainingRun{.history = {.best = 1}}; }),
            out("training_run.history.best_epoch", 1, "0 to 0"));
  EXPECT_EQ(refused([](Metadata& m) { m.training_run = TrainingRun{.history = {.best = -1}}; }),
            out("training_run.history.best_epoch", -1, "0 to 0"));
}

TEST(Metadata, NamesTensorsOfItsModel) {
  EXPECT_EQ(refused([](Metadata& m) { m.normalizations = {{.layer = "conv", .weight = "w"}}; }),
            errors::metadata_without_tensor("graph 'g': metadata.normalizations of layer 'conv'", "w"));
  EXPECT_EQ(refused([](Metadata& m) { m.learned_quantizers = {{.kind = QuantizerKind::pact, .scale = "gone"}}; }),
            errors::metadata_without_tensor("graph 'g': metadata.learned_quantizers of kind pact", "gone"));
  EXPECT_EQ(refused([](Metadata& m) { m.learned_quantizers = {{.kind = QuantizerKind::pact, .scale = "s"}}; }),
            Diagnostic{});
  const auto of_own = [](const char* arguments) {
    return refused([&](Metadata& m) {
      m.learned_quantizers = {{.kind = QuantizerKind::own,
                               .scale = "s",
                               .networks = {{"q", fmt::format("graph g({}) {{ return x }}", arguments)}},
                               .tensors = {{"step", "s"}}}};
    });
  };
  EXPECT_EQ(of_own("x: f32[2], step: f32[1]"), Diagnostic{});
  EXPECT_EQ(of_own("x: f32[2], ceiling: f32[1]"),
            errors::metadata_without_tensor("graph 'g': metadata.learned_quantizers of kind own", "ceiling"));
}

TEST(Metadata, KindsAndEdges) {
  EXPECT_EQ(name_of([] { parse_quantizer_kind("lsqq"); }), "unknown_name");
  EXPECT_EQ(diagnostic_of([] { first_last_scales(plain()); }), errors::edge_scales_missing("g"));
}

TEST(PlatformRecord, IsReadOnceForAllCopies) {
  static int reads = 0;
  const PlatformRecord record("text"), copy = record;
  const auto read = [](const std::string& text) { return ++reads, text + "!"; };
  EXPECT_EQ(record.as<std::string>(read), "text!");
  EXPECT_EQ(&copy.as<std::string>(read), &record.as<std::string>(read));
  EXPECT_EQ(reads, 1);
  EXPECT_EQ(copy, PlatformRecord("text"));
  EXPECT_FALSE(PlatformRecord());
  EXPECT_FALSE(PlatformRecord() == PlatformRecord(""));
}

}  // namespace
}  // namespace halfstep
