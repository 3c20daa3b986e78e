// Text files that list images, one per line: PATH or PATH,LABEL.
#pragma once

#include "halfstep/data/datasets/csv.h"
#include "halfstep/data/datasets/csv_lines.h"

namespace halfstep::data {

struct ImageList {
  std::vector<std::string> paths;    ///< paths as written in the text
  Tensor labels;                     ///< i32 [n], undefined without labels
  std::vector<std::string> classes;  ///< names of the classes
};

/// Whether the first lines name images.
bool is_image_list(io::Source& source);

/// Labels are numbers in [0, classes) or words. A first line without an image name is a header. Then the header or
/// `label` selects the label column. Without one, the second column holds labels. `label` "none": no labels.
ImageList read_image_list(io::Source& source, int64_t classes, const std::string& label);

}  // namespace halfstep::data
