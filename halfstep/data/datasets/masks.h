// Masks of images: a picture of class numbers for each picture.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace halfstep::data {

/// Pictures and their masks, in the same order.
struct PairedPaths {
  std::vector<std::string> images, masks;
};

/// The pairs of paths that have a folder `images` or `masks` and are equal otherwise, except for the ending:
/// train/images/a.jpg and train/masks/a.png, or images/train/a.jpg and masks/train/a.png. Nothing if no path has such a
/// folder or no path has the other one. Throws, starting with `where`, if a picture has no mask or a mask no picture.
std::optional<PairedPaths> pairs_of(const std::vector<std::string>& paths, const std::string& where);

}  // namespace halfstep::data
