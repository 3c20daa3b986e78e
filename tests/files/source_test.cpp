#include "halfstep/core/files/source.h"

#include <gtest/gtest.h>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/mapped_file.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::diagnostic_of;
using test::name_of;

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
    for (size_t size = 14; size < whole.size(); ++size)  // libarchive accepts shorter bzip2 data as empty
      EXPECT_TRUE(diagnostic_of([&] { drain(test::first(whole, size), 512); }).problem.starts_with(names[i])) << size;
    EXPECT_EQ(name_of([&] { drain(test::first(whole, whole.size() - 1), 512); }), "compressed_data_cut_off");
  }
}

TEST(Source, DamageIsAnError) {
  Bytes gzip = test::gzipped(sample(3000));
  gzip[gzip.size() - 6] ^= std::byte{1};
  EXPECT_EQ(diagnostic_of([&] { drain(gzip, 512); }),
            errors::compressed_data_damaged("data", "gzip", "incorrect data check"));
  Bytes zstd = test::packed(sample(3000), ARCHIVE_FILTER_ZSTD);
  zstd[4] ^= std::byte{0x08};  // a reserved bit of the frame header
  EXPECT_EQ(diagnostic_of([&] { drain(zstd, 512); }),
            errors::compressed_data_damaged("data", "zstd", "Zstd decompression failed: Unsupported frame parameter"));
}

TEST(Source, GarbageBehindGzipIsAnError) {
  EXPECT_EQ(diagnostic_of([] { drain(test::joined(test::gzipped(sample(10)), test::to_bytes("junk")), 64); }),
            errors::compressed_data_damaged("data", "gzip", "incorrect header check"));
}

TEST(Source, FilesThatCannotBeRead) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(diagnostic_of([&] { file_source(folder / "none"); }),
            errors::cannot_be_read((folder / "none").string(), "no such file or directory"));
  EXPECT_EQ(diagnostic_of([&] { file_source(folder.path()); }), errors::not_a_file(folder.path().string(), "a folder"));
}

TEST(MappedFile, LiesInItsFolder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  write_file(folder / "out", "x");
  EXPECT_EQ(diagnostic_of([&] { MappedFile::open_below(folder / "in", "../out"); }),
            errors::outside_of_folder((folder / "in" / "../out").string(), (folder / "in").string()));
  EXPECT_EQ(diagnostic_of([&] { MappedFile::open(folder / "in"); }),
            errors::not_a_file((folder / "in").string(), "a folder"));
}

}  // namespace
}  // namespace halfstep::io
