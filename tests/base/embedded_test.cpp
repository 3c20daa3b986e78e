#include "halfstep/core/base/embedded.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace halfstep {
namespace {

TEST(Embedded, DigitsAreThereByteForByte) {
  const auto bytes = embedded("models/optdigits.csv.gz");
  ASSERT_EQ(bytes.size(), 57512U);
  EXPECT_EQ(bytes[0], std::byte{0x1f});  // gzip magic
  EXPECT_EQ(bytes[1], std::byte{0x8b});
}

TEST(Embedded, FilesAreInPathOrder) {
  const auto files = embedded_files();
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; }));
}

TEST(Embedded, UnknownPathGivesNothing) { EXPECT_FALSE(find_embedded("models/none.ir").has_value()); }

}  // namespace
}  // namespace halfstep
