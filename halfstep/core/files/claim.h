// Exclusive claims on file names: only one process writes to a name at a time.
#pragma once

#include <filesystem>
#include <optional>

namespace halfstep::io {

/// A claim lives as long as the object. While it is held, a request for the same name fails, from another process or in
/// this one. The error names the holding process. The system releases the claim when the process ends in any way. On
/// file systems without locks every request succeeds. A new claim also removes the temporaries of killed processes,
/// beside the name or in the folder.
class Claim {
 public:
  /// Claims a folder and creates it if missing. Throws if it accepts no new file.
  static Claim of_folder(const std::filesystem::path& path);
  /// Claims a name in an existing folder. A hidden file beside it exists as long as the claim.
  static Claim of_name(const std::filesystem::path& path);

  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) noexcept;
  ~Claim();

 private:
  Claim(int file, std::filesystem::path beside);

  int file_;
  std::filesystem::path beside_;  ///< hidden file of the claim; "" if none
};

/// A claimed folder. The destructor removes it if it is empty. An empty path claims nothing.
class HeldFolder {
 public:
  explicit HeldFolder(std::filesystem::path path);
  ~HeldFolder();
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

 private:
  std::filesystem::path path_;
  std::optional<Claim> claim_;
};

}  // namespace halfstep::io
