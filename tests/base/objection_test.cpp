// Refusals say everything at once, and each reason once.
#include "halfstep/core/base/objection.h"

#include <gtest/gtest.h>

#include "tests/support/error.h"

namespace halfstep {
namespace {

using test::error_of;
using test::kind_of;

Objection at(const std::string& layer, const std::string& what) { return {layer, "node '" + layer + "'", what}; }

TEST(Objection, LeavesOutWhatIsEmpty) {
  EXPECT_EQ(at("a", "it is red").reason(), "it is red");
  EXPECT_EQ((Objection{"a", "node 'a'", "colour", "red", "blue", "paint it"}.reason()),
            "colour: found red, expected blue; paint it");
}

TEST(Refusal, SaysEachReasonOnceWithItsPlaces) {
  EXPECT_EQ(error_of([] { refuse_all({}); }), "no error");
  EXPECT_EQ(error_of([] {
              refuse_all({at("a", "red"), at("b", "green"), at("c", "red"), at("d", "red")});
            }),
            "node 'a': red; the same at node 'c', node 'd'; node 'b': green");
  std::vector<Objection> many(12, at("a", "red"));
  const std::string message = error_of([&] { refuse_all(many); });
  EXPECT_TRUE(message.ends_with("node 'a' and 3 more")) << message;
}

TEST(Refusal, IsUnsupportedWhereAnyPartIs) {
  Objection bad = at("a", "red");
  bad.kind = ErrorKind::bad_input;
  EXPECT_EQ(kind_of([&] { refuse_all({bad}); }), ErrorKind::bad_input);
  EXPECT_EQ(kind_of([&] { refuse_all({bad, at("b", "green")}); }), ErrorKind::unsupported);
}

TEST(Collect, GathersWhatIsUnsupportedAndNothingElse) {
  std::vector<Objection> all;
  EXPECT_TRUE(collect(all, "a", "node 'a'", [] {}));
  EXPECT_FALSE(collect(all, "a", "node 'a'", [] { unsupported("node 'a': red"); }));
  EXPECT_FALSE(collect(all, "b", "node 'b'", [] { refuse_all({at("x", "red"), at("y", "red")}); }));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], at("a", "red"));
  EXPECT_EQ(all[2].layer, "y");
  EXPECT_EQ(error_of([&] { collect(all, "a", "node 'a'", [] { fail("wrong"); }); }), "wrong");
}

TEST(Collect, TakesTheRemedyOutOfTheMessage) {
  std::vector<Objection> all;
  collect(all, "a", "node 'a'", [] { unsupported("node 'a': red; paint it; or leave it"); });
  collect(all, "b", "node 'b'", [] { unsupported("node 'b': green"); });
  add_remedy(all, "do not look");
  EXPECT_EQ(all[0].what, "red");
  EXPECT_EQ(all[0].remedy, "paint it; or leave it");
  EXPECT_EQ(all[0].reason(), "red; paint it; or leave it");
  EXPECT_EQ(all[1].reason(), "green; do not look");
}

}  // namespace
}  // namespace halfstep
