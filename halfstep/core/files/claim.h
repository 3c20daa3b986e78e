// Names that one process at a time writes to.
#pragma once

#include <filesystem>
#include <optional>

namespace halfstep::io {

/// Held for the time of an object. Another process, or another object of this one, that asks for the same name
/// meanwhile gets an error which names the process. The system gives it up with the process, however that ends. File
/// systems that lock nothing give a claim to anybody. Taking one removes the temporaries beside or inside that a killed
/// process left.
class Claim {
 public:
  /// A folder, which is made where it is missing; throws where it takes no new file.
  static Claim of_folder(const std::filesystem::path& path);
  /// A name in a folder that is there, by a hidden file beside it which goes with the claim.
  static Claim of_name(const std::filesystem::path& path);

  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) noexcept;
  ~Claim();

 private:
  Claim(int file, std::filesystem::path beside);

  int file_;
  std::filesystem::path beside_;  ///< "": none
};

/// A claimed folder; it goes with this object where nothing is in it. Without a name nothing is claimed.
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
