#include "halfstep/io/archive.h"

#include <gtest/gtest.h>

#include "tests/io/tar.h"
#include "tests/support/error.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::error_of;
using test::joined;
using test::tar_end;
using test::tar_entry;
using test::to_bytes;

std::map<std::string, Bytes> read_all(const Bytes& archive) {
  std::map<std::string, Bytes> files;
  const auto source = decompressed(memory_source(archive, "a.tar"));
  TarReader reader(*source);
  while (const auto path = reader.next()) files[*path] = reader.contents();
  return files;
}
std::string read_error(const Bytes& archive) {
  return error_of([&] { read_all(archive); });
}

Bytes sample() {
  return joined(joined(tar_entry("d/", {}, '5'), tar_entry("d/a", to_bytes("hello"))),
                joined(tar_entry("d/b", Bytes(512, std::byte{1})), tar_entry("empty", {})));
}

TEST(Tar, FilesInAnyCompression) {
  const Bytes archive = joined(sample(), tar_end());
  const auto files = read_all(archive);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files.at("d/a"), to_bytes("hello"));
  EXPECT_EQ(files.at("d/b"), Bytes(512, std::byte{1}));
  EXPECT_EQ(files.at("empty"), Bytes());
  EXPECT_EQ(read_all(test::gzipped(archive)), files);
  EXPECT_EQ(read_all(test::zstd_compressed(archive)), files);
}

TEST(Tar, ContentsMayBePassedOver) {
  const Bytes archive = joined(sample(), tar_end());
  const auto source = memory_source(archive, "a.tar");
  TarReader reader(*source);
  int files = 0;
  while (reader.next()) ++files;
  EXPECT_EQ(files, 3);
}

TEST(Tar, LongNames) {
  const std::string path = std::string(150, 'd') + "/" + std::string(80, 'f');
  const Bytes gnu =
      joined(tar_entry("././@LongLink", to_bytes(path + '\0'), 'L', false), tar_entry(path, to_bytes("g")));
  const std::string record = fmt::format("{} path={}\n", path.size() + 10, path);
  const Bytes pax = joined(tar_entry("pax", to_bytes("11 mtime=1\n" + record), 'x'), tar_entry("short", to_bytes("p")));
  EXPECT_EQ(read_all(joined(gnu, tar_end())).at(path), to_bytes("g"));
  EXPECT_EQ(read_all(joined(pax, tar_end())).at(path), to_bytes("p"));
  const Bytes after = joined(joined(gnu, tar_entry("next", {})), tar_end());
  EXPECT_TRUE(read_all(after).contains("next"));
}

TEST(Tar, PrefixOfPosixNames) {
  Bytes entry = tar_entry("name", {});
  entry[345] = std::byte{'p'};
  for (size_t i = 0; i < 8; ++i) entry[148 + i] = std::byte{' '};
  unsigned sum = 0;
  for (const std::byte b : entry) sum += static_cast<unsigned>(b);
  const std::string text = fmt::format("{:06o}", sum);
  for (size_t i = 0; i < 6; ++i) entry[148 + i] = static_cast<std::byte>(text[i]);
  entry[154] = std::byte{0};
  EXPECT_TRUE(read_all(joined(entry, tar_end())).contains("p/name"));
}

TEST(Tar, TruncationIsAnErrorAtEveryLength) {
  const Bytes archive = sample();
  for (size_t size = 0; size <= archive.size(); size += 13)
    EXPECT_EQ(read_error(test::first(archive, size)).substr(0, 30), "a.tar: the archive ends early,") << size;
  EXPECT_EQ(read_error(archive), "a.tar: the archive ends early, after 4 files");
  EXPECT_EQ(read_error(test::first(archive, 1026)), "a.tar: the archive ends early, in file 'd/a'");
}

TEST(Tar, Damage) {
  Bytes archive = joined(sample(), tar_end());
  archive[512] ^= std::byte{1};
  EXPECT_EQ(read_error(archive),
            "a.tar: found no tar header after 1 files: the archive is damaged or of another format");
  EXPECT_EQ(read_error(joined(tar_entry("l", {}, '2'), tar_end())),
            "a.tar: 'l' is neither a file nor a folder (type '2')");
  EXPECT_EQ(read_error(joined(tar_entry("p", to_bytes("99 path=a\n"), 'x'), tar_end())),
            "a.tar: file 'p': damaged pax header");
  EXPECT_EQ(read_error(joined(tar_entry("p", to_bytes("1 path=a\n"), 'x'), tar_end())),
            "a.tar: file 'p': damaged pax header");
}

TEST(Tar, WildSizes) {
  Bytes entry = tar_entry("big", {});
  const auto with_size = [&](const std::string& size) {
    Bytes changed = entry;
    for (size_t i = 0; i < 12; ++i) changed[124 + i] = i < size.size() ? static_cast<std::byte>(size[i]) : std::byte{0};
    for (size_t i = 0; i < 8; ++i) changed[148 + i] = std::byte{' '};
    unsigned sum = 0;
    for (const std::byte b : changed) sum += static_cast<unsigned>(b);
    const std::string text = fmt::format("{:06o}", sum);
    for (size_t i = 0; i < 6; ++i) changed[148 + i] = static_cast<std::byte>(text[i]);
    changed[154] = std::byte{0};
    return read_error(joined(changed, tar_end()));
  };
  const std::string message = "a.tar: file 'big': size is more than 268435456 bytes";
  EXPECT_EQ(with_size("77777777777"), message);
  EXPECT_EQ(with_size("\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), message);
  EXPECT_EQ(with_size("99999"), message);
  EXPECT_EQ(with_size("1777777777"), "a.tar: the archive ends early, in file 'big'");
}

}  // namespace
}  // namespace halfstep::io
