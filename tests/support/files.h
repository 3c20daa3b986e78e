// Files of tests: temporary ones, and data sets that may be absent.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace halfstep::test {

/// A fresh folder, removed with its contents at the end of the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "halfstep_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a folder like " << name;
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// A file or folder of the shared test data (CMake: HALFSTEP_TEST_DATA).
inline std::filesystem::path test_data(const std::string& name) {
  return std::filesystem::path(HALFSTEP_TEST_DATA) / name;
}

}  // namespace halfstep::test

/// Skips the test with a reason when this machine does not have the test data.
#define HS_NEEDS_TEST_DATA(name)                                      \
  if (!std::filesystem::exists(::halfstep::test::test_data(name)))    \
  GTEST_SKIP() << "no " << ::halfstep::test::test_data(name).string() \
               << ": set HALFSTEP_TEST_DATA to the folder of test data"
