#include "halfstep/core/files/source.h"

#include <gtest/gtest.h>

#include "tests/io/bytes.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::error_of;

constexpr std::array kFilters = {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_XZ, ARCHIVE_FILTER_BZIP2};

Bytes sample(size_t size) {
  Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * i >> 7);
  return bytes;
}

/// Reads all of it in pieces of `step` bytes.
Bytes drain(const Bytes& packed, size_t step) {
  const auto source = decompressed(memory_source(packed, "data"));
  Bytes out;
  for (size_t got = step; got == step;) {
    Bytes piece(step);
    got = source->read(piece);
    out.insert(out.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(got));
  }
  return out;
}

TEST(Source, DecompressesWhatIsCompressedInAnyStep) {
  for (const size_t size : {0, 1, 3, 4, 5, 1000, 200'000}) {
    const Bytes plain = sample(size);
    for (const size_t step : {1, 7, 512, 65536, 1 << 20}) {
      if (step < 512 && size > 1000) continue;
      EXPECT_EQ(drain(plain, step), plain) << size << " plain in steps of " << step;
      for (const int filter : kFilters)
        EXPECT_EQ(drain(test::packed(plain, filter), step), plain) << size << " in steps of " << step << ", " << filter;
    }
  }
}

TEST(Source, ReadsSeveralMembersAsOne) {
  const Bytes a = sample(1000), b = sample(70'000);
  for (const int filter : kFilters)
    EXPECT_EQ(drain(test::joined(test::packed(a, filter), test::packed(b, filter)), 4096), test::joined(a, b))
        << filter;
}

TEST(Source, TruncationIsAnErrorAtEveryLength) {
  const char* const names[] = {"gzip", "zstd", "xz", "bzip2"};
  for (size_t i = 0; i < kFilters.size(); ++i) {
    const Bytes whole = test::packed(sample(3000), kFilters[i]);
    const std::string message = fmt::format("data: {} data ends early, after ", names[i]);
    for (size_t size = 14; size < whole.size(); ++size)  // libarchive takes shorter bzip2 data as empty
      EXPECT_TRUE(error_of([&] { drain(test::first(whole, size), 512); }).starts_with(message)) << message << size;
  }
}

TEST(Source, DamageIsAnError) {
  Bytes gzip = test::gzipped(sample(3000));
  gzip[gzip.size() - 6] ^= std::byte{1};
  EXPECT_EQ(error_of([&] { drain(gzip, 512); }), "data: gzip data is damaged: incorrect data check");
  Bytes zstd = test::packed(sample(3000), ARCHIVE_FILTER_ZSTD);
  zstd[4] ^= std::byte{0x08};  // a reserved bit of the frame header
  EXPECT_EQ(error_of([&] { drain(zstd, 512); }),
            "data: zstd data is damaged: Zstd decompression failed: Unsupported frame parameter");
}

TEST(Source, GarbageBehindGzipIsAnError) {
  EXPECT_EQ(error_of([] { drain(test::joined(test::gzipped(sample(10)), test::to_bytes("junk")), 64); }),
            "data: gzip data is damaged: incorrect header check");
}

TEST(Source, FilesThatCannotBeRead) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { file_source(folder / "none"); }),
            (folder / "none").string() + ": no such file or directory");
  EXPECT_EQ(error_of([&] { file_source(folder.path()); }),
            folder.path().string() + ": found a folder, expected a file");
}

}  // namespace
}  // namespace halfstep::io
