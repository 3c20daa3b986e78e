#include "halfstep/core/files/claim.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::error_of;

std::string in_use(const std::filesystem::path& path) {
  return fmt::format("{}: process {} (", path.string(), ::getpid());
}

TEST(Claim, ANameIsClaimedOnce) {
  const test::TemporaryFolder folder;
  const auto path = folder / "same.st";
  {
    const Claim claim = Claim::of_name(path);
    const std::string error = error_of([&] { Claim::of_name(path); });
    EXPECT_TRUE(error.starts_with(in_use(path))) << error;
    EXPECT_TRUE(error.ends_with(") writes to it; wait until that has ended, or name another one")) << error;
    const Claim other = Claim::of_name(folder / "other.st");
    write_file(path, "written");
    EXPECT_TRUE(std::filesystem::exists(folder / ".halfstep-same.st.claim"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / ".halfstep-same.st.claim"));
  const Claim again = Claim::of_name(path);
  EXPECT_EQ(read_text_file(path), "written");
}

TEST(Claim, AFolderIsMadeAndClaimedOnce) {
  const test::TemporaryFolder folder;
  const auto path = folder / "runs" / "one";
  std::optional<Claim> claim = Claim::of_folder(path);
  EXPECT_TRUE(error_of([&] { Claim::of_folder(path); }).starts_with(in_use(path)));
  write_file(path / "a", "");
  Claim moved = *std::move(claim);
  claim.reset();
  EXPECT_TRUE(error_of([&] { Claim::of_folder(path); }).starts_with(in_use(path)));
  const Claim around = Claim::of_folder(folder / "runs");
  moved = Claim::of_folder(folder / "runs" / "two");
  const Claim again = Claim::of_folder(path);
  EXPECT_TRUE(std::filesystem::exists(path / "a"));
}

TEST(Claim, WhatAKilledProcessLeftGoes) {
  const test::TemporaryFolder folder;
  for (const char* name :
       {".halfstep-1.tmp", ".halfstep-a.claim", ".halfstep-2.tmp", ".halfstep-kept", "a.tmp", ".b.tmp"})
    write_file(folder / name, "");
  const int held = ::open((folder / ".halfstep-2.tmp").c_str(), O_RDONLY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  { const Claim claim = Claim::of_name(folder / "out"); }
  { const Claim claim = Claim::of_folder(folder.path()); }
  for (const char* name : {".halfstep-2.tmp", ".halfstep-kept", "a.tmp", ".b.tmp"})
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  for (const char* name : {".halfstep-1.tmp", ".halfstep-a.claim"})
    EXPECT_FALSE(std::filesystem::exists(folder / name)) << name;
  ::close(held);
  { const Claim claim = Claim::of_folder(folder.path()); }
  EXPECT_FALSE(std::filesystem::exists(folder / ".halfstep-2.tmp"));
}

TEST(Claim, FoldersThatAKilledProcessLeftGo) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / ".halfstep-1.tmp");
  write_file(folder / ".halfstep-1.tmp" / "x.bin", "");
  std::filesystem::create_directory_symlink(folder.path(), folder / ".halfstep-2.tmp");
  {
    const FolderBeside held(folder / "out");
    { const Claim claim = Claim::of_name(folder / "out"); }
    EXPECT_TRUE(std::filesystem::exists(held.path()));
    EXPECT_FALSE(std::filesystem::exists(folder / ".halfstep-1.tmp"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder / ".halfstep-2.tmp"));
    write_file(held.path() / "y.bin", "");
  }
  std::filesystem::remove(folder / ".halfstep-2.tmp");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// Who looks for what is abandoned meets files that are written and have not yet their names.
TEST(Claim, FilesThatAreWrittenAreNotAbandoned) {
  const test::TemporaryFolder folder;
  std::atomic<bool> done = false;
  std::thread sweeper([&] {
    while (!done) const Claim claim = Claim::of_name(folder / "other");
  });
  std::string error = "no error";
  for (int i = 0; i < 300 && error == "no error"; ++i) error = error_of([&] { write_file(folder / "a", "written"); });
  done = true;
  sweeper.join();
  EXPECT_EQ(error, "no error");
}

TEST(Claim, ErrorsNameThePath) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(
      error_of([&] { Claim::of_name(folder / "none" / "a"); }),
      (folder / "none" / "a").string() +
          ": cannot be written: no such file or directory; make the folder that it is to lie in, or name another");
  write_file(folder / "file", "");
  EXPECT_EQ(error_of([&] { Claim::of_folder(folder / "file"); }),
            (folder / "file").string() + ": cannot be made a folder: is a file; name another folder");
  const std::string longest(255, 'a');
  const Claim claim = Claim::of_name(folder / longest);
  write_file(folder / longest, "");
}

}  // namespace
}  // namespace halfstep::io
