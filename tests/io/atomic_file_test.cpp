#include "halfstep/io/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "halfstep/io/file.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::error_of;

TEST(AtomicFile, WritesAndReplaces) {
  const test::TemporaryFolder folder;
  write_file(folder / "a.txt", "one");
  EXPECT_EQ(read_text_file(folder / "a.txt"), "one");
  write_file(folder / "a.txt", "");
  EXPECT_EQ(read_text_file(folder / "a.txt"), "");
  EXPECT_FALSE(std::filesystem::exists(folder / "a.txt.tmp"));
}

TEST(AtomicFile, LargeFilesComeBackWhole) {
  const test::TemporaryFolder folder;
  const std::string text(3 << 20, 'x');
  write_file(folder / "a", text);
  EXPECT_EQ(read_text_file(folder / "a"), text);
}

TEST(AtomicFile, NamesPathAndReason) {
  const test::TemporaryFolder folder;
  const auto path = folder / "none/a.txt";
  EXPECT_EQ(error_of([&] { write_file(path, "x"); }), path.string() + ": cannot be written: no such file or directory");
}

TEST(AtomicFile, KeepsTheOldFileAndNoTemporaryWhenRenamingFails) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a/b");  // a file cannot take the name of a folder
  EXPECT_EQ(error_of([&] { write_file(folder / "a", "x"); }),
            (folder / "a").string() + ": cannot be written: is a directory");
  EXPECT_TRUE(std::filesystem::exists(folder / "a/b"));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.tmp"));
}

TEST(AtomicFile, FullDeviceIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  const test::TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "a.tmp");
  EXPECT_EQ(error_of([&] { write_file(folder / "a", "x"); }),
            (folder / "a").string() + ": cannot be written: no space left on device");
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(AtomicFile, RemovesOnlyTemporaryFilesOfTheFolderItself) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder / "sub.tmp");
  for (const char* name : {"a.tmp", "b.safetensors.tmp", "c.safetensors", "sub.tmp/d.tmp"})
    write_file(folder / name, "x");
  EXPECT_EQ(remove_temporaries(folder.path()), 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.tmp"));
  EXPECT_TRUE(std::filesystem::exists(folder / "c.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(folder / "sub.tmp/d.tmp"));
  EXPECT_EQ(remove_temporaries(folder / "none"), 0);
}

}  // namespace
}  // namespace halfstep::io
