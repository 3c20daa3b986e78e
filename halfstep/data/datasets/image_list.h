// Images that a text names, one a line: PATH or PATH,LABEL.
#pragma once

#include "halfstep/data/datasets/csv.h"
#include "halfstep/data/datasets/csv_lines.h"

namespace halfstep::data {

struct ImageList {
  std::vector<std::string> paths;    ///< as the text has them
  Tensor labels;                     ///< i32 [n]; undefined where there are none
  std::vector<std::string> classes;  ///< their names
};

/// Whether the first lines name images.
bool is_image_list(io::Source& source);

/// Labels are numbers in [0, classes) or words. Under a header (a first line without the name of an image) the label is
/// the column that it or `label` says, else the second; `label` "none": nowhere.
ImageList read_image_list(io::Source& source, int64_t classes, const std::string& label);

}  // namespace halfstep::data
