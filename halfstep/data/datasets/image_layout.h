// What the paths of images say: classes and parts.
#pragma once

#include <string>
#include <vector>

#include "halfstep/data/datasets/dataset.h"

namespace halfstep::data {

/// What one path says.
struct ImagePlace {
  std::string part = {};   ///< "train", "val", "test" or nothing
  std::string label = {};  ///< the class; nothing where there are none
};

struct ImageLayout {
  std::vector<ImagePlace> places;    ///< of each path
  std::vector<std::string> classes;  ///< sorted; empty without labels
  bool has_labels() const { return !classes.empty(); }
};

/// Of PART/CLASS/.../NAME, PART/NAME, CLASS/.../NAME or NAME, where folders that all paths share do not count. PART is
/// train, val, valid, validation, test or the like, in any case. Throws where some images have a part or a class and
/// others none, where val or test has a class that train lacks, and for more than `most` classes.
ImageLayout layout_of(const std::vector<std::string>& paths, const std::string& where, int64_t most);

/// Labels, classes and split of those of the layout's images whose number is in `kept`.
void describe(const ImageLayout& layout, const std::vector<int64_t>& kept, Dataset& dataset);

}  // namespace halfstep::data
