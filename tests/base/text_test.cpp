// Small things with a text form: suggestions, places, locations, errors.
#include <gtest/gtest.h>

#include "halfstep/core/base/location.h"
#include "halfstep/core/base/nearest.h"
#include "halfstep/core/base/place.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

TEST(Nearest, SuggestsWhatIsClose) {
  const std::vector<std::string> names = {"generic_int8", "pow2_int8", "magik_t40"};
  EXPECT_EQ(did_you_mean("generic_int", names), ", did you mean 'generic_int8'?");
  EXPECT_EQ(did_you_mean("magic_t40", names), ", did you mean 'magik_t40'?");
  EXPECT_EQ(did_you_mean("pwo2_int8", names), ", did you mean 'pow2_int8'?");
  EXPECT_EQ(did_you_mean("tpu", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), names), "");
}

TEST(Nearest, FirstOfEquallyCloseNames) {
  const std::vector<std::string> names = {"conv1d", "conv2d", "conv3d"};
  EXPECT_EQ(did_you_mean("convd", names), ", did you mean 'conv1d'?");
}

TEST(Place, TextRoundTrip) {
  for (const Place place : {Place{}, Place{DeviceKind::sim, 0}, Place{DeviceKind::cuda, 3}})
    EXPECT_EQ(parse_place(to_string(place)), place);
  EXPECT_EQ(parse_place("cuda"), (Place{DeviceKind::cuda, 0}));
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1 ", "cpu:0"})
    EXPECT_EQ(parse_place(bad), std::nullopt) << bad;
}

TEST(Location, Text) {
  EXPECT_EQ(to_string(Location{"digits.ir", 12}), "digits.ir:12");
  EXPECT_EQ(to_string(Location{}), "");
}

TEST(Status, KindsAndMessages) {
  EXPECT_EQ(test::kind_of([] { fail("a {}", 1); }), ErrorKind::bad_input);
  EXPECT_EQ(test::kind_of([] { unsupported("a {}", 1); }), ErrorKind::unsupported);
  EXPECT_EQ(test::error_of([] { fail("a {}", 1); }), "a 1");
  const std::string bug = test::error_of([] { HS_CHECK(1 == 2); });
  EXPECT_EQ(bug, fmt::format("this is a bug: tests/base/text_test.cpp:{}: 1 == 2", __LINE__ - 1));
  EXPECT_TRUE(Status().ok());
  EXPECT_FALSE(Status("no").ok());
  EXPECT_TRUE(static_cast<bool>(accept()));
  EXPECT_EQ(refuse("a {}", "b").reason(), "a b");
}

}  // namespace
}  // namespace halfstep
