// Records that spell keys as version 0.1 did are read as records of today, with a note for each key.
#include "halfstep/quant/platform/earlier_keys.h"

#include <gtest/gtest.h>

#include "halfstep/core/base/embedded.h"
#include "halfstep/quant/platform/errors.h"
#include "halfstep/quant/platform/platform.h"
#include "tests/quant/at.h"
#include "tests/support/error.h"

namespace halfstep::quant {
namespace {

using Notes = std::vector<std::string>;

std::string record_of_today() {
  const auto bytes = embedded("platforms/generic_int8.yaml");
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The record of generic_int8, with a rule, as version 0.1 wrote it.
std::string earlier_record() {
  std::string text = replaced(record_of_today(), "\nactivations:", "\nfeatures:");
  text = replaced(text, "\nfused_activations:", "\nactivations:");
  text = replaced(text, "\nfirst_and_last:", "\nedges:");
  return replaced(text, "\nlegal: []", "\nlegal: [{op: add, features: [8], reason: sums have 8 bits}]");
}

std::string record_with_rule() {
  return replaced(record_of_today(), "\nlegal: []", "\nlegal: [{op: add, activations: [8], reason: sums have 8 bits}]");
}

TEST(EarlierKeys, MeanTheKeysOfToday) {
  const Platform platform = parse_platform(earlier_record(), "p.yaml");
  const Platform today = parse_platform(record_with_rule(), "p.yaml");
  EXPECT_EQ(platform.text, today.text);
  EXPECT_EQ(platform.earlier_keys, (Notes{"activations is now fused_activations", "edges is now first_and_last",
                                          "features is now activations", "legal.features is now activations"}));
  EXPECT_EQ(today.earlier_keys, Notes());
}

TEST(EarlierKeys, AreAcceptedInOverrides) {
  EXPECT_EQ(load_platform("generic_int8", {{"features.rate", "0.5"}}).rate, 0.5);
  EXPECT_EQ(load_platform("generic_int8", {{"edges.bits", "4"}}).first_last_bits, 4);
  EXPECT_EQ(load_platform("generic_int8", {{"activations.weighted", "[relu]"}}).weighted_activations.size(), 1U);
  EXPECT_EQ(current_path("activations.rate"), "activations.rate");
  EXPECT_EQ(current_path("edges"), "first_and_last");
}

TEST(EarlierKeys, BesideTheirNewNameAreGivenTwice) {
  const std::string text = replaced(record_of_today(), "\nfirst_and_last:", "\nedges: {bits: 4}\nfirst_and_last:");
  const auto found = test::diagnostics_of([&] { parse_platform(text, "p.yaml"); });
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().entry, &errors::record_key_twice_entry);
}

TEST(EarlierKeys, KeepTheirLinesInMessages) {
  const std::string text = replaced(earlier_record(), "zero_points: affine", "zero_points: afine");
  const std::string wrong = test::diagnostic_of([&] { parse_platform(text, "p.yaml"); }).where;
  EXPECT_TRUE(wrong.starts_with("p.yaml:")) << wrong;
  EXPECT_TRUE(wrong.ends_with("activations.zero_points")) << wrong;
}

}  // namespace
}  // namespace halfstep::quant
