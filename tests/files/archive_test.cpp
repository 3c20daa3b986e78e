#include "halfstep/core/files/archive.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/zip.h"
#include "tests/files/tar.h"
#include "tests/support/error.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::diagnostic_of;
using test::joined;
using test::tar_end;
using test::tar_entry;
using test::to_bytes;

std::map<std::string, Bytes> read_all(const Bytes& archive, ArchiveForm form = ArchiveForm::tar) {
  std::map<std::string, Bytes> files;
  ArchiveReader reader(memory_source(archive, "a." + std::string(form == ArchiveForm::tar ? "tar" : "zip")), form);
  while (const auto path = reader.next()) files[*path] = reader.contents();
  return files;
}
Diagnostic read_error(const Bytes& archive, ArchiveForm form = ArchiveForm::tar) {
  return diagnostic_of([&] { read_all(archive, form); });
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
  for (const int filter : {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_XZ, ARCHIVE_FILTER_BZIP2})
    EXPECT_EQ(read_all(test::packed(archive, filter)), files) << filter;
}

TEST(Tar, ContentsMayBePassedOver) {
  const Bytes archive = joined(sample(), tar_end());
  ArchiveReader reader(memory_source(archive, "a.tar"), ArchiveForm::tar);
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
  const std::string accented = "gr\xC3\xBCn";
  const Bytes utf8 = joined(tar_entry("pax", to_bytes("14 path=" + accented + "\n"), 'x'), tar_entry("short", {}));
  EXPECT_TRUE(read_all(joined(utf8, tar_end())).contains(accented));
  const Bytes after = joined(joined(gnu, tar_entry("next", {})), tar_end());
  EXPECT_TRUE(read_all(after).contains("next"));
}

TEST(Tar, NamesThatStartAsCompressedDataDo) {
  EXPECT_TRUE(read_all(joined(tar_entry("BZhang/1.png", {}), tar_end())).contains("BZhang/1.png"));
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
    EXPECT_EQ(read_error(test::first(archive, size)).entry, &errors::archive_cut_off_entry) << size;
  EXPECT_EQ(read_error(archive), errors::archive_cut_off("a.tar", "after 4 files"));
  EXPECT_EQ(read_error(test::first(archive, 1026)), errors::archive_cut_off("a.tar", "in file 'd/a'"));
}

TEST(Tar, Damage) {
  Bytes archive = joined(sample(), tar_end());
  archive[512] ^= std::byte{1};
  EXPECT_EQ(read_error(archive), errors::archive_without_header("a.tar", "tar", 1));
  EXPECT_EQ(read_error(joined(tar_entry("l", {}, '2'), tar_end())),
            errors::archive_of_other_things("a.tar", "l", "a link"));
  EXPECT_EQ(read_error(joined(tar_entry("p", {}, '6'), tar_end())),
            errors::archive_of_other_things("a.tar", "p", "a pipe"));
  for (const char* record : {"99 path=a\n", "1 path=a\n"})
    EXPECT_EQ(read_error(joined(joined(tar_entry("p", to_bytes(record), 'x'), tar_entry("q", {})), tar_end())),
              errors::archive_file_damaged("a.tar", "q", "Ignoring malformed pax extended attribute"));
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
  EXPECT_EQ(with_size("77777777777"),
            errors::archive_too_large("a.tar: file 'big'", "8589934591 bytes", "at most 268435456"));
  const Diagnostic damaged = errors::archive_without_header("a.tar", "tar", 0);
  EXPECT_EQ(with_size("\x80\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"), damaged);
  EXPECT_EQ(with_size("99999"), damaged);
  EXPECT_EQ(with_size("1777777777"), errors::archive_cut_off("a.tar", "in file 'big'"));
}

/// A zip archive with one file, "f\303\274r". `values` replace the bytes from `at` on in both of its headers, where
/// `at` counts in the local header.
Bytes zip_with(size_t at, std::initializer_list<int> values) {
  Bytes bytes = serialize_zip({{"f\xC3\xBCr", to_bytes("hello")}});
  const size_t central = bytes.size() - 22 - 50;
  for (const int value : values) {
    bytes[at] = bytes[central + at + 2] = static_cast<std::byte>(value);
    ++at;
  }
  return bytes;
}

TEST(Zip, Files) {
  const std::map<std::string, Bytes> files = {{"d/a", to_bytes("hello")}, {"empty", {}}};
  EXPECT_EQ(read_all(serialize_zip(files), ArchiveForm::zip), files);
  EXPECT_TRUE(read_all(serialize_zip({}), ArchiveForm::zip).empty());
  EXPECT_TRUE(read_all(zip_with(7, {0x00}), ArchiveForm::zip).contains("f\xC3\xBCr"));
  EXPECT_TRUE(read_all(zip_with(7, {0x08}), ArchiveForm::zip).contains("f\xC3\xBCr"));  // the flag for UTF-8 names
}

TEST(Zip, Damage) {
  const std::string file = "f\xC3\xBCr";
  EXPECT_EQ(read_error(zip_with(6, {1}), ArchiveForm::zip), errors::archive_file_encrypted("a.zip", file));
  EXPECT_EQ(read_error(zip_with(8, {10}), ArchiveForm::zip),
            errors::archive_method_unsupported("a.zip", file, "Unsupported ZIP compression method (10: ibm-terse)"));
  EXPECT_EQ(read_error(zip_with(14, {1}), ArchiveForm::zip),
            errors::archive_file_damaged("a.zip", file, "ZIP bad CRC: 0x3610a686 should be 0x3610a601"));
  EXPECT_EQ(read_error(zip_with(22, {0, 0, 0, 0x7F}), ArchiveForm::zip),
            errors::archive_too_large("a.zip: file '" + file + "'", "2130706432 bytes", "at most 268435456"));
  for (const std::string& text : {std::string("PK"), std::string(22, 'P'), "PK\x03\x04" + std::string(18, '\0')})
    EXPECT_EQ(read_error(to_bytes(text), ArchiveForm::zip), errors::zip_without_end("a.zip"));
}

TEST(Zip, WritesNoMoreFilesThanTheFormatHas) {
  std::map<std::string, Bytes> files;
  for (int i = 0; i < UINT16_MAX; ++i) files.emplace(std::to_string(i), Bytes());
  EXPECT_EQ(diagnostic_of([&] { serialize_zip(files); }), errors::zip_too_large("65535 files", "at most 65534"));
}

}  // namespace
}  // namespace halfstep::io
