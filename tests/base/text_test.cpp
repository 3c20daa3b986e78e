// Text forms of suggestions, devices, locations and errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/base/diagnostics/location.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/limits.h"
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
  const Diagnostic wrong = errors::dims_unknown("[?]");
  EXPECT_EQ(test::kind_of([&] { fail(wrong); }), ErrorKind::bad_input);
  EXPECT_EQ(test::kind_of([] { fail(errors::interrupted("Ctrl-C")); }), ErrorKind::interrupted);
  EXPECT_EQ(test::diagnostic_of([] { HS_CHECK(1 == 2); }),
            errors::defect(fmt::format("tests/base/text_test.cpp:{}", __LINE__ - 1), "1 == 2"));
  EXPECT_TRUE(Status().ok());
  EXPECT_EQ(Status(wrong).diagnostic(), wrong);
  EXPECT_TRUE(static_cast<bool>(accept()));
  EXPECT_FALSE(static_cast<bool>(refuse(wrong)));
  EXPECT_EQ(refuse(wrong).diagnostic(), wrong);
}

TEST(Limits, ANumberOutOfRangeIsNamedWithTheRange) {
  const auto require = [](const Limits& limits, auto number) {
    return test::diagnostic_of([&] { limits.require("batch", number); });
  };
  EXPECT_EQ(require(limits::kBatch, 1), Diagnostic{});
  EXPECT_EQ(require(limits::kBatch, int64_t{0}), errors::number_out_of_range("batch", 0, "at least 1"));
  EXPECT_EQ(require(limits::kMixup, 100.5F), errors::number_out_of_range("batch", "100.5", "0 to 100"));
  EXPECT_EQ(require(limits::kShare, 1.0), errors::number_out_of_range("batch", 1, "at least 0 and below 1"));
  EXPECT_EQ(require(limits::kDeviation, std::nan("")),
            errors::number_out_of_range("batch", "nan", "above 0 and at most 1e+30"));
}

}  // namespace
}  // namespace halfstep
