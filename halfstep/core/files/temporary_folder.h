// A temporary folder, removed by its destructor.
#pragma once

#include <filesystem>
#include <string>

namespace halfstep::io {

/// Creates an empty folder in the system's folder for temporary files, and removes it with its contents. Throws
/// bad_input if it cannot be created.
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
