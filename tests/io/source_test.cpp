#include "halfstep/io/source.h"

#include <gtest/gtest.h>

#include "tests/io/bytes.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::error_of;

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
      EXPECT_EQ(drain(test::gzipped(plain), step), plain) << size << " gzip in steps of " << step;
      EXPECT_EQ(drain(test::zstd_compressed(plain), step), plain) << size << " zstd in steps of " << step;
    }
  }
}

TEST(Source, ReadsSeveralMembersAsOne) {
  const Bytes a = sample(1000), b = sample(70'000);
  EXPECT_EQ(drain(test::joined(test::gzipped(a), test::gzipped(b)), 4096), test::joined(a, b));
  EXPECT_EQ(drain(test::joined(test::zstd_compressed(a), test::zstd_compressed(b)), 4096), test::joined(a, b));
}

TEST(Source, TruncationIsAnErrorAtEveryLength) {
  const Bytes plain = sample(3000);
  const Bytes gzip = test::gzipped(plain), zstd = test::zstd_compressed(plain);
  for (size_t size = 4; size < gzip.size(); ++size)
    EXPECT_NE(error_of([&] { drain(test::first(gzip, size), 512); }).find("data: gzip data ends early, after "),
              std::string::npos);
  for (size_t size = 4; size < zstd.size(); ++size)
    EXPECT_NE(error_of([&] { drain(test::first(zstd, size), 512); }).find("data: zstd data ends early, after "),
              std::string::npos);
}

TEST(Source, DamageIsAnError) {
  Bytes gzip = test::gzipped(sample(3000));
  gzip[gzip.size() - 6] ^= std::byte{1};
  EXPECT_EQ(error_of([&] { drain(gzip, 512); }), "data: gzip data is damaged: incorrect data check");
  Bytes zstd = test::zstd_compressed(sample(3000));
  zstd[4] ^= std::byte{0x08};  // a reserved bit of the frame header
  EXPECT_EQ(error_of([&] { drain(zstd, 512); }), "data: zstd data is damaged: Unsupported frame parameter");
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
