// Values inside of branches and loops as outputs of an ONNX file, for whoever compares them.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/dtype.h"

namespace halfstep::formats::onnx {

struct Recorded {
  std::vector<std::string> values;    ///< in the order of the new outputs, which are the last
  std::vector<std::string> left_out;  ///< in a branch or a loop inside of a Scan, which stacks equal extents alone
};

/// Gives the file at `path` an output for each of these values, which have no other name in its graphs: its elements
/// each time that a run comes to it, one behind the other. A branch gives none where it is not taken, a Loop carries
/// what its iterations gave, and a Scan stacks it. Throws where the file has no such value inside of a node.
Recorded record_inside(const std::filesystem::path& path, const std::map<std::string, DType>& values);

}  // namespace halfstep::formats::onnx
