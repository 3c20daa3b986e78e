// Folders with more than images: links, pipes, and unreadable files.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/data/datasets/errors.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::data {
namespace {

namespace fs = std::filesystem;
using test::diagnostic_of;

/// Two classes of one image each.
class ImageTree : public testing::Test {
 protected:
  ImageTree() {
    for (const char* name : {"a/1.png", "b/1.png"}) {
      fs::create_directories((folder / name).parent_path());
      io::write_file(folder / name, io::read_file(HALFSTEP_SOURCE_DIR "/tests/data/samples/grey.png"));
    }
  }
  Diagnostic error() {
    return diagnostic_of([&] { load_dataset(folder.path()); });
  }
  std::string where() const { return folder.path().string(); }

  test::TemporaryFolder folder;
};

TEST_F(ImageTree, LinksAndPipesAreNamed) {
  fs::create_symlink("loop.png", folder / "a/loop.png");
  EXPECT_EQ(error(), errors::folder_with_others(where(), "'a/loop.png' (a link)"));
  fs::create_symlink("/etc/passwd", folder / "b/outside.png");
  fs::create_symlink("a", folder / "c");
  ASSERT_EQ(::mkfifo((folder / "b/pipe.png").c_str(), 0600), 0);
  EXPECT_EQ(error(),
            errors::folder_with_others(
                where(), "'a/loop.png' (a link), 'b/outside.png' (a link), 'b/pipe.png' (a pipe), 'c' (a link)"));
  for (int i = 0; i < 6; ++i) fs::create_symlink("1.png", folder / ("a/0" + std::to_string(i) + ".png"));
  EXPECT_TRUE(error().found.ends_with("'b/outside.png' (a link) and 2 more")) << error().found;
}

TEST_F(ImageTree, WhatIsNoImageDoesNotCount) {
  fs::create_symlink("README", folder / "a/README");
  fs::create_symlink("hidden.png", folder / "a/.hidden.png");
  ASSERT_EQ(::mkfifo((folder / "a/pipe").c_str(), 0600), 0);
  fs::create_directories(folder / "a/.cache");
  fs::create_symlink("x.png", folder / "a/.cache/x.png");
  EXPECT_EQ(load_dataset(folder.path()).size(), 2);
}

/// Root may read everything, so the test temporarily becomes the user nobody.
TEST_F(ImageTree, AFolderThatNobodyMayReadIsNamed) {
  fs::permissions(folder.path(), fs::perms::all);
  fs::create_directories(folder / "b/.git");
  fs::permissions(folder / "b/.git", fs::perms::none);
  fs::permissions(folder / "b", fs::perms::all);
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const Diagnostic hidden = error();
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(hidden, Diagnostic{});
  fs::permissions(folder / "b", fs::perms::none);
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const Diagnostic denied = error();
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(folder / "b", fs::perms::all);
  EXPECT_EQ(denied, errors::cannot_be_read((folder / "b").string(), "permission denied"));
}

TEST_F(ImageTree, APipeInPlaceOfAFileIsRefusedAndNotWaitedFor) {
  for (const char* name : {"data.csv", "data.npz", "data.safetensors", "data.tar", "x-images-idx3-ubyte"}) {
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    EXPECT_EQ(diagnostic_of([&] { load_dataset(folder / name); }),
              errors::not_a_file((folder / name).string(), "a pipe"));
  }
}

}  // namespace
}  // namespace halfstep::data
