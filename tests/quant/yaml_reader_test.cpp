// Mappings of YAML, read key by key: every value has its type, every key is expected, every error its line.
#include "halfstep/quant/yaml_reader.h"

#include <gtest/gtest.h>

#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using test::error_of;

YamlReader reader(const std::string& text) { return {parse_yaml(text, "a.yaml"), "a.yaml", ""}; }

TEST(YamlReader, GivesValuesOfTheirTypes) {
  YamlReader read =
      reader("{word: one, count: 3, share: 0.5, on: true, list: [1, 2], names: [a, b], inner: {deep: 4}}");
  EXPECT_EQ(read.text("word"), "one");
  EXPECT_EQ(read.text("word", {"one", "two"}), "one");
  EXPECT_EQ(read.integer("count", 3, 3), 3);
  EXPECT_EQ(read.number("share", 0, 1), 0.5);
  EXPECT_TRUE(read.boolean("on"));
  EXPECT_EQ(read.integers("list"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(read.texts("names"), (std::vector<std::string>{"a", "b"}));
  YamlReader inner = read.map("inner");
  EXPECT_EQ(inner.integer("deep", 0, 9), 4);
  inner.finish();
  read.finish();
}

TEST(YamlReader, ListsOfMappingsAreNumbered) {
  YamlReader read = reader("list:\n  - {a: 1}\n  - {a: x}\n");
  auto items = read.maps("list");
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].integer("a", 0, 1), 1);
  EXPECT_EQ(error_of([&] { items[1].integer("a", 0, 1); }), "a.yaml:3: list[1].a: found 'x', expected a whole number");
}

TEST(YamlReader, NamesKeysByTheirPath) {
  YamlReader read = reader("outer:\n  inner:\n    count: 12\n");
  YamlReader inner = read.map("outer").map("inner");
  EXPECT_EQ(inner.where("count"), "a.yaml:3: outer.inner.count");
  EXPECT_EQ(inner.where("other"), "a.yaml:3: outer.inner.other");
  EXPECT_EQ(error_of([&] { inner.integer("count", 0, 9); }), "a.yaml:3: outer.inner.count: found 12, expected 0 to 9");
  EXPECT_EQ(error_of([&] { inner.number("count", 0, 9); }), "a.yaml:3: outer.inner.count: found 12, expected 0 to 9");
  EXPECT_EQ(error_of([&] { inner.integer("cuont", 0, 9); }), "a.yaml:3: outer.inner.cuont: is missing");
  EXPECT_EQ(error_of([&] { inner.map("count"); }),
            "a.yaml:3: outer.inner.count: found no mapping, expected keys and values");
  EXPECT_EQ(error_of([&] { inner.maps("count"); }),
            "a.yaml:3: outer.inner.count: found no list, expected a list of mappings");
}

TEST(YamlReader, FinishRejectsWhatNobodyAskedFor) {
  YamlReader read = reader("a: 1\nbits: 8\nbitts: 4\n");
  EXPECT_TRUE(read.has("a"));
  EXPECT_FALSE(read.has("b"));
  read.integer("bits", 0, 9);
  EXPECT_EQ(error_of([&] { read.finish(); }), "a.yaml:3: bitts: unknown key, did you mean 'bits'?");
}

/// A key that is missing is often there in another spelling; keys that were read are not meant.
TEST(YamlReader, MissingKeysFindTheirMisspelling) {
  YamlReader read = reader("bits: 8\nbitts: 4\n");
  read.integer("bits", 0, 9);
  EXPECT_EQ(error_of([&] { read.integer("bitss", 0, 9); }), "a.yaml:2: bitts: unknown key, did you mean 'bitss'?");
  EXPECT_EQ(error_of([&] { read.integer("rate", 0, 9); }), "a.yaml:1: rate: is missing");
}

}  // namespace
}  // namespace halfstep::quant
