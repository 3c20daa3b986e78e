// The nodes of a file, as the file has them.
#pragma once

#include <string>
#include <vector>

#include "halfstep/formats/import/import.h"

namespace halfstep::formats {

struct NodeLine {
  std::string op;    ///< with its domain where that is not the format's own
  std::string name;  ///< "" where the format has no names for nodes
  std::vector<std::string> inputs, outputs;
};

/// In the order of the file; graphs inside nodes are left out.
std::vector<NodeLine> node_list(const File& file);

}  // namespace halfstep::formats
