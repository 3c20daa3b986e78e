// YAML documents checked against a list of keys: every mistake is reported with its line, and values have their types.
#include "halfstep/quant/platform/yaml_reader.h"

#include <gtest/gtest.h>

#include "halfstep/quant/platform/errors.h"
#include "tests/quant/at.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::at;
using test::diagnostic_of;
using enum ValueKind;

const std::vector<RecordKey> kKeys = {{"word", text, "A word.", "one", {.choices = {"one", "two"}}, "two"},
                                      {"bits", integer, "Bits.", "3", {.least = 2, .most = 9}},
                                      {"share", number, "A share.", "0.5", {.least = 0, .most = 1}, ""},
                                      {"on", boolean, "On.", "true", {}, ""},
                                      {"inner", mapping, "Inside."},
                                      {"inner.list", integers, "Numbers.", "[1]", {.least = 0, .most = 5}},
                                      {"inner.names", names, "Names.", "[a]", {}, "[x, y]"},
                                      {"rules", mappings, "Rules.", "", {}, ""},
                                      {"rules.op", text, "A name.", "a"}};

using Mistakes = std::vector<Diagnostic>;

Mistakes mistakes(const std::string& text) { return YamlDocument(parse_yaml(text, "a"), "a", kKeys).objections(); }

TEST(YamlReader, GivesValuesOfTheirTypes) {
  YamlDocument document(
      parse_yaml("{word: one, bits: 3, share: 0.5, on: true, inner: {list: [1, 2]}, rules: [{op: a}, {op: b}]}", "a"),
      "a", kKeys);
  const YamlReader read = document.reader();
  EXPECT_EQ(read.text("word"), "one");
  EXPECT_EQ(read.integer("bits"), 3);
  EXPECT_EQ(read.number("share"), 0.5);
  EXPECT_TRUE(read.boolean("on"));
  EXPECT_EQ(read.map("inner").integers("list"), (std::vector<int64_t>{1, 2}));
  ASSERT_EQ(read.maps("rules").size(), 2U);
  EXPECT_EQ(read.maps("rules")[1].text("op"), "b");
  EXPECT_EQ(read.maps("rules")[1].path_of("op"), "rules[1].op");
  EXPECT_TRUE(document.objections().empty());
}

TEST(YamlReader, AbsentKeysHaveTheirDefaults) {
  YamlDocument document(parse_yaml("{bits: 3, inner: {list: []}}", "a"), "a", kKeys);
  const YamlReader read = document.reader();
  EXPECT_FALSE(read.has("word"));
  EXPECT_EQ(read.text("word"), "two");
  EXPECT_EQ(read.map("inner").texts("names"), (std::vector<std::string>{"x", "y"}));
  EXPECT_TRUE(read.maps("rules").empty());
  EXPECT_TRUE(document.objections().empty());
}

TEST(YamlReader, SaysAllMistakesInTheOrderOfTheirLines) {
  EXPECT_EQ(mistakes("word: on\nbits: 12\nshare: .nan\non: 7\ninner:\n  list: [6, x, 1, 1]\n  names: a\n"
                     "rules:\n  - {op: {}}\n  - 3\n  - {opp: a}\n"),
            Mistakes({at("a:1: word", errors::record_value_not_a_choice("'on'", "one, two", ", did you mean 'one'?")),
                      at("a:2: bits", errors::record_value_out_of_range(12, "2 to 9")),
                      at("a:3: share", errors::record_value_out_of_range("nan", "0 to 1")),
                      at("a:4: on", errors::record_value_kind("'7'", "true or false")),
                      at("a:6: inner.list", errors::record_value_out_of_range(6, "0 to 5")),
                      at("a:6: inner.list", errors::record_value_kind("'x'", "a list of integers")),
                      at("a:6: inner.list", errors::record_value_twice("1")),
                      at("a:7: inner.names", errors::record_value_kind("'a'", "a list of names")),
                      at("a:9: rules[0].op", errors::record_value_kind("a mapping", "text")),
                      at("a:10: rules[1]", errors::record_section_without_keys("no mapping")),
                      at("a:11: rules[2].opp", errors::record_key_unknown(", did you mean 'op'?"))}));
  EXPECT_EQ(mistakes("inner: 1\n[a]: 2\n\n"),
            Mistakes({at("a:1: bits", errors::record_key_missing()),
                      at("a:1: inner", errors::record_section_without_keys("no mapping")),
                      at("a:2: record", errors::record_key_not_text())}));
}

/// A misspelled key is not reported as missing too. A key that is present is not suggested.
TEST(YamlReader, MissingKeysFindTheirMisspelling) {
  EXPECT_EQ(mistakes("bist: 8\ninner: {list: []}\n"),
            Mistakes({at("a:1: bist", errors::record_key_unknown(", did you mean 'bits'?"))}));
  EXPECT_EQ(mistakes("bits: 8\nbitts: 4\ninner: {list: []}\n"),
            Mistakes({at("a:2: bitts", errors::record_key_unknown(", did you mean 'bits'?"))}));
  EXPECT_EQ(mistakes("bits: 8\ncolour: 4\ninner: {lists: []}\n"),
            Mistakes({at("a:2: colour", errors::record_key_unknown("")),
                      at("a:3: inner.lists", errors::record_key_unknown(", did you mean 'list'?"))}));
}

TEST(YamlReader, KeysGivenTwiceNameBothLines) {
  EXPECT_EQ(mistakes("bits: 8\ninner: {list: []}\nbits: 4\nbits: 4\n"),
            Mistakes({at("a:3: bits", errors::record_key_twice(1)), at("a:4: bits", errors::record_key_twice(1))}));
}

/// Consequences of a wrong value are not reported.
TEST(YamlReader, ObjectsToSoundValuesAlone) {
  const auto said = [](const std::string& text, const std::string& key, std::initializer_list<std::string> on) {
    YamlDocument document(parse_yaml(text, "a"), "a", kKeys);
    const size_t before = document.objections().size();
    document.reader().map("inner").object(key, errors::legal_bits_empty(), on);
    return document.objections().size() - before;
  };
  EXPECT_EQ(said("{bits: 3, inner: {list: [1]}}", "list", {"bits", "word"}), 1U);
  EXPECT_EQ(said("{bits: 3, inner: {list: [1]}}", "", {}), 1U);
  EXPECT_EQ(said("{bits: 3, inner: {list: [9]}}", "list", {}), 0U);
  EXPECT_EQ(said("{bits: 3, inner: 4}", "list", {}), 0U);
  EXPECT_EQ(said("{bits: 1, inner: {list: [1]}}", "list", {"bits"}), 0U);
  EXPECT_EQ(said("{inner: {list: [1]}}", "list", {"bits"}), 0U);
}

TEST(YamlReader, KeysThatAreNotListedAreADefectOfOurs) {
  YamlDocument document(parse_yaml("{bits: 3, inner: {list: [1]}}", "a"), "a", kKeys);
  EXPECT_EQ(test::name_of([&] { document.reader().integer("width"); }), "defect");
}

TEST(YamlReader, TabsAreNamedWithTheirLine) {
  for (const auto& [text, line] : std::vector<std::pair<std::string, int>>{{"inner:\n\tlist: 8\n", 2},
                                                                           {"a: 1\n\tb: 2\n", 2},
                                                                           {"inner:\n  list: 8\n \tx: 3\n", 3},
                                                                           {"a:\n  - 1\n\t- 2\n", 3},
                                                                           {"\ta: 1\n", 1}})
    EXPECT_EQ(diagnostic_of([&] { parse_yaml(text, "a.yaml"); }),
              errors::yaml_indented_by_tab("a.yaml:" + std::to_string(line)));
  EXPECT_EQ(parse_yaml("a: {b: 1,\tc: 2}\n", "a.yaml")["a"]["c"].as<int>(), 2);
  EXPECT_EQ(diagnostic_of([] { parse_yaml("a: [x\ty\n", "a.yaml"); }), errors::yaml_invalid("a.yaml:2: column 1"));
}

TEST(YamlReader, AFileIsOneDocument) {
  EXPECT_EQ(diagnostic_of([] { parse_yaml("a: 1\n---\nb: 2\n", "a.yaml"); }),
            errors::yaml_of_several_documents("a.yaml"));
  for (const char* text : {"", "# nothing\n"})
    EXPECT_EQ(mistakes(text), Mistakes({at("a:1: record", errors::record_without_keys("nothing"))}));
}

}  // namespace
}  // namespace halfstep::quant
