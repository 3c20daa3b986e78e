// The nodes of a file as recorded in the file.
#pragma once

#include <string>
#include <vector>

#include "halfstep/formats/import/import.h"

namespace halfstep::formats {

struct NodeLine {
  std::string op;    ///< with its domain if it is not the default domain of the format
  std::string name;  ///< "" if the format has no names for nodes
  std::vector<std::string> inputs, outputs;
};

/// Returns nodes in the order of the file, without nested graphs.
std::vector<NodeLine> node_list(const File& file);

}  // namespace halfstep::formats
