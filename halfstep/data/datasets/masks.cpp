#include "halfstep/data/datasets/masks.h"

#include <filesystem>
#include <map>

#include "halfstep/core/base/status.h"
#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

/// The path without its first folder of this name and without its ending. Nothing if there is no such folder.
std::optional<std::string> key_of(const std::string& path, const char* folder) {
  const std::filesystem::path whole(path);
  std::filesystem::path key;
  bool found = false;
  for (const auto& part : whole.parent_path()) {
    if (!found && part == folder) {
      found = true;
    } else {
      key /= part;
    }
  }
  if (!found) return std::nullopt;
  return (key / whole.stem()).string();
}

std::map<std::string, std::string> by_key(const std::vector<std::string>& paths, const char* folder) {
  std::map<std::string, std::string> found;
  for (const std::string& path : paths) {
    if (const auto key = key_of(path, folder)) found.emplace(*key, path);
  }
  return found;
}

}  // namespace

std::optional<PairedPaths> pairs_of(const std::vector<std::string>& paths, const std::string& where) {
  const auto images = by_key(paths, "images"), masks = by_key(paths, "masks");
  if (images.empty() || masks.empty()) return std::nullopt;
  PairedPaths pairs;
  for (const auto& [key, path] : images) {
    const auto mask = masks.find(key);
    if (mask == masks.end()) fail(errors::image_without_mask(where, path, "mask"));
    pairs.images.push_back(path);
    pairs.masks.push_back(mask->second);
  }
  for (const auto& [key, path] : masks) {
    if (!images.contains(key)) fail(errors::image_without_mask(where, path, "image"));
  }
  return pairs;
}

}  // namespace halfstep::data
