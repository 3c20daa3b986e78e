// A folder for the time of an object.
#pragma once

#include <filesystem>
#include <string>

namespace halfstep::io {

/// Made empty where temporary files go, and removed with all that is in it. Throws bad_input where it cannot be made.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace halfstep::io
