#include "halfstep/core/files/claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::diagnostic_of;

/// Whether the error names this process as the writer of the path.
bool is_in_use(const Diagnostic& error, const std::filesystem::path& path) {
  return error.entry == &errors::output_in_use_entry && error.where == path.string() &&
         error.problem.starts_with(fmt::format("process {} (", ::getpid()));
}

TEST(Claim, ANameIsClaimedOnce) {
  const test::TemporaryFolder folder;
  const auto path = folder / "same.st";
  {
    const Claim claim = Claim::of_name(path);
    const Diagnostic error = diagnostic_of([&] { Claim::of_name(path); });
    EXPECT_TRUE(is_in_use(error, path)) << error.message();
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
  EXPECT_TRUE(is_in_use(diagnostic_of([&] { Claim::of_folder(path); }), path));
  write_file(path / "a", "");
  Claim moved = *std::move(claim);
  claim.reset();
  EXPECT_TRUE(is_in_use(diagnostic_of([&] { Claim::of_folder(path); }), path));
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

/// A search for abandoned files meets files that are still being written, under temporary names.
TEST(Claim, FilesThatAreWrittenAreNotAbandoned) {
  const test::TemporaryFolder folder;
  std::atomic<bool> done = false;
  std::thread sweeper([&] {
    while (!done) const Claim claim = Claim::of_name(folder / "other");
  });
  Diagnostic error;
  for (int i = 0; i < 300 && error == Diagnostic{}; ++i)
    error = diagnostic_of([&] { write_file(folder / "a", "written"); });
  done = true;
  sweeper.join();
  EXPECT_EQ(error, Diagnostic{});
}

TEST(Claim, ErrorsNameThePath) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(diagnostic_of([&] { Claim::of_name(folder / "none" / "a"); }),
            errors::cannot_be_written((folder / "none" / "a").string(), "no such file or directory",
                                      "create its folder, or choose another"));
  write_file(folder / "file", "");
  EXPECT_EQ(diagnostic_of([&] { Claim::of_folder(folder / "file"); }),
            errors::output_not_a_folder((folder / "file").string(), "a file"));
  const std::string longest(255, 'a');
  const Claim claim = Claim::of_name(folder / longest);
  write_file(folder / longest, "");
}

}  // namespace
}  // namespace halfstep::io
