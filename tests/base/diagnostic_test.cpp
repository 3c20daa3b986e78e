// Refusals name all reasons at once, and each reason once.
#include "halfstep/core/base/diagnostics/diagnostics.h"

#include <gtest/gtest.h>

#include "tests/support/error.h"

namespace halfstep {
namespace {

using test::diagnostic_of;
using test::diagnostics_of;
using test::kind_of;

constexpr std::string_view kTakes[] = {"layer", "colour", "remedy"};
constexpr ErrorEntry kWrongColour = {.id = "HS0001",
                                     .name = "wrong_colour",
                                     .room = "tests",
                                     .kind = ErrorKind::unsupported,
                                     .title = "The colour is wrong",
                                     .takes = kTakes,
                                     .where = "node '{layer}'",
                                     .problem = {},
                                     .found = "{colour}",
                                     .expected = {},
                                     .remedy = "{remedy}",
                                     .explanation = "Colours are an example."};

Diagnostic wrong_colour(const std::string& layer, const std::string& colour, const std::string& remedy = "") {
  return fill(kWrongColour, {layer, colour, remedy});
}

Diagnostic at(const std::string& layer, const std::string& colour) { return wrong_colour(layer, colour); }

TEST(Diagnostic, EmptyPartsAreLeftOutOfTheMessage) {
  EXPECT_EQ((Diagnostic{"a", "node 'a'", "it is red"}.reason()), "it is red");
  EXPECT_EQ((Diagnostic{"a", "node 'a'", "colour", "red", "blue", "paint it"}.reason()),
            "colour: found red, expected blue; paint it");
  EXPECT_EQ((Diagnostic{.expected = "blue"}.reason()), "expected blue");
}

TEST(Diagnostic, ValuesFillTheTextsOfTheEntry) {
  const Diagnostic one = wrong_colour("a", "red", "paint it");
  EXPECT_EQ(one.where, "node 'a'");
  EXPECT_EQ(one.found, "red");
  EXPECT_EQ(one.remedy, "paint it");
  EXPECT_EQ(one.entry, &kWrongColour);
  EXPECT_EQ(one.kind(), ErrorKind::unsupported);
}

TEST(Text, NumbersAreShortest) {
  EXPECT_EQ(Text(0.1F).get(), "0.1");
  EXPECT_EQ(Text(0.1).get(), "0.1");
  EXPECT_EQ(Text(uint64_t{1} << 63).get(), "9223372036854775808");
}

/// The only test that may compare messages: it creates them itself.
TEST(Error, HasEachReasonOnceWithItsPlaces) {
  EXPECT_TRUE(diagnostics_of([] { fail_on_any({}); }).empty());
  const std::vector<Diagnostic> four = {at("a", "red"), at("b", "green"), at("c", "red"), at("d", "red")};
  EXPECT_EQ(diagnostics_of([&] { fail_on_any(four); }), four);
  EXPECT_STREQ(Error(four).what(), "node 'a': found red; the same at node 'c', node 'd'; node 'b': found green");
  const std::string message = Error(std::vector<Diagnostic>(12, at("a", "red"))).what();
  EXPECT_TRUE(message.ends_with("node 'a' and 3 more")) << message;
}

TEST(Error, IsUnsupportedWhereAnyPartIs) {
  const Diagnostic bad = errors::dims_unknown("[?]");
  EXPECT_EQ(kind_of([&] { fail_on_any({bad}); }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([&] { fail_on_any({bad, at("b", "green")}); }), ErrorKind::unsupported);
}

TEST(Error, APrefixIsAPlaceAround) {
  const auto where = [](const Diagnostic& one) { return prefixed("net", Error(one)).diagnostics().front().where; };
  EXPECT_EQ(where(at("a", "red")), "net: node 'a'");
  EXPECT_EQ(where(errors::dims_unknown("[?]")), "net");
}

TEST(Collect, GathersWhatIsUnsupportedAndNothingElse) {
  std::vector<Diagnostic> all;
  const Diagnostic wrong = errors::dims_unknown("[?]");
  EXPECT_TRUE(collect(all, "a", "node 'a'", [] {}));
  EXPECT_FALSE(collect(all, "a", "node 'x'", [&] { fail(at("a", "red")); }));
  EXPECT_FALSE(collect(all, "b", "node 'b'", [] { fail_on_any({at("x", "red"), at("y", "red")}); }));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], placed(at("a", "red"), "a", ""));
  EXPECT_EQ(all[2], placed(at("y", "red"), "b", ""));
  EXPECT_EQ(diagnostic_of([&] { collect(all, "a", "node 'a'", [&] { fail(wrong); }); }), wrong);
  EXPECT_EQ(placed(wrong, "a", "node 'a'").where, "node 'a'");
}

TEST(Collect, ARemedyIsAddedWhereThereIsNone) {
  std::vector<Diagnostic> all = {wrong_colour("a", "red", "paint it"), at("b", "green")};
  add_remedy(all, "do not look");
  EXPECT_EQ(all[0].remedy, "paint it");
  EXPECT_EQ(all[1].remedy, "do not look");
}

}  // namespace
}  // namespace halfstep
