// Documents of YAML held against a list of keys: every mistake is said, each with its line, and values have their
// types.
#include "halfstep/quant/platform/yaml_reader.h"

#include <gtest/gtest.h>

#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::error_of;
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

/// "LINE: PATH: reason" of each.
std::vector<std::string> mistakes(const std::string& text) {
  std::vector<std::string> all;
  for (const Objection& one : YamlDocument(parse_yaml(text, "a"), "a", kKeys).objections()) {
    EXPECT_EQ(one.kind, ErrorKind::bad_input);
    all.push_back(one.where.substr(2) + ": " + one.reason());
  }
  return all;
}

using Mistakes = std::vector<std::string>;

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
  EXPECT_EQ(
      mistakes("word: on\nbits: 12\nshare: .nan\non: 7\ninner:\n  list: [6, x, 1, 1]\n  names: a\n"
               "rules:\n  - {op: {}}\n  - 3\n  - {opp: a}\n"),
      Mistakes({"1: word: found 'on', expected one, two, did you mean 'one'?", "2: bits: found 12, expected 2 to 9",
                "3: share: found nan, expected 0 to 1", "4: on: found '7', expected true or false",
                "6: inner.list: found 6, expected 0 to 5", "6: inner.list: found 'x', expected a list of whole numbers",
                "6: inner.list: found 1 twice", "7: inner.names: found 'a', expected a list of names",
                "9: rules[0].op: found a mapping, expected text",
                "10: rules[1]: found no mapping, expected keys and values",
                "11: rules[2].opp: unknown key, did you mean 'op'?"}));
  EXPECT_EQ(mistakes("inner: 1\n[a]: 2\n\n"),
            Mistakes({"1: bits: is missing", "1: inner: found no mapping, expected keys and values",
                      "2: record: found a key that is no text"}));
}

/// A key in another spelling is not missing as well; one that is there is not meant.
TEST(YamlReader, MissingKeysFindTheirMisspelling) {
  EXPECT_EQ(mistakes("bist: 8\ninner: {list: []}\n"), Mistakes({"1: bist: unknown key, did you mean 'bits'?"}));
  EXPECT_EQ(mistakes("bits: 8\nbitts: 4\ninner: {list: []}\n"),
            Mistakes({"2: bitts: unknown key, did you mean 'bits'?"}));
  EXPECT_EQ(mistakes("bits: 8\ncolour: 4\ninner: {lists: []}\n"),
            Mistakes({"2: colour: unknown key", "3: inner.lists: unknown key, did you mean 'list'?"}));
}

TEST(YamlReader, KeysGivenTwiceNameBothLines) {
  EXPECT_EQ(mistakes("bits: 8\ninner: {list: []}\nbits: 4\nbits: 4\n"),
            Mistakes({"3: bits: the key is given twice, before in line 1",
                      "4: bits: the key is given twice, before in line 1"}));
}

/// What follows from a wrong value is not said.
TEST(YamlReader, ObjectsToSoundValuesAlone) {
  const auto said = [](const std::string& text, const std::string& key, std::initializer_list<std::string> on) {
    YamlDocument document(parse_yaml(text, "a"), "a", kKeys);
    const size_t before = document.objections().size();
    document.reader().map("inner").object(key, {.what = "is odd"}, on);
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
  EXPECT_NE(error_of([&] { document.reader().integer("width"); }).find("this is a bug"), std::string::npos);
}

TEST(YamlReader, TabsAreNamedWithTheirLine) {
  const std::string tab = "a tab in front of the text, expected spaces";
  for (const auto& [text, line] : std::vector<std::pair<std::string, int>>{{"inner:\n\tlist: 8\n", 2},
                                                                           {"a: 1\n\tb: 2\n", 2},
                                                                           {"inner:\n  list: 8\n \tx: 3\n", 3},
                                                                           {"a:\n  - 1\n\t- 2\n", 3},
                                                                           {"\ta: 1\n", 1}})
    EXPECT_EQ(error_of([&] { parse_yaml(text, "a.yaml"); }), "a.yaml:" + std::to_string(line) + ": found " + tab);
  EXPECT_EQ(parse_yaml("a: {b: 1,\tc: 2}\n", "a.yaml")["a"]["c"].as<int>(), 2);
  EXPECT_EQ(error_of([] { parse_yaml("a: [x\ty\n", "a.yaml"); }),
            "a.yaml:2: column 1: found what is no YAML, expected keys, values and brackets that end");
}

TEST(YamlReader, AFileIsOneDocument) {
  EXPECT_EQ(error_of([] { parse_yaml("a: 1\n---\nb: 2\n", "a.yaml"); }),
            "a.yaml: found several documents, expected one");
  for (const char* text : {"", "# nothing\n"})
    EXPECT_EQ(mistakes(text), Mistakes({"1: record: found nothing, expected keys and values; begin with: halfstep "
                                        "platform new NAME"}));
}

}  // namespace
}  // namespace halfstep::quant
