// Derives classes and parts from the paths of images.
#pragma once

#include <string>
#include <vector>

#include "halfstep/data/datasets/dataset.h"

namespace halfstep::data {

/// Part and class of one path.
struct ImagePlace {
  std::string part = {};   ///< "train", "val", "test" or ""
  std::string label = {};  ///< class, "" if there are none
};

struct ImageLayout {
  std::vector<ImagePlace> places;    ///< one for each path
  std::vector<std::string> classes;  ///< sorted, empty without labels
  bool has_labels() const { return !classes.empty(); }
};

/// The layout of paths of the form PART/CLASS/.../NAME, PART/NAME, CLASS/.../NAME or NAME. Folders shared by all paths
/// are ignored. PART is train, val, valid, validation, test or similar, in any case. Throws if only some images have a
/// part or a class, if val or test has a class that train lacks, or if there are more than `most` classes.
ImageLayout layout_of(const std::vector<std::string>& paths, const std::string& where, int64_t most);

/// The layout of paths with the part of the first folder that names one, and without classes.
ImageLayout parts_only(const std::vector<std::string>& paths);

/// Sets labels, classes and split of `dataset` for those images of the layout whose number is in `kept`.
void describe(const ImageLayout& layout, const std::vector<int64_t>& kept, Dataset& dataset);

}  // namespace halfstep::data
