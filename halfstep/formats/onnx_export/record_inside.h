// Exposes values inside branches and loops as outputs of an ONNX file, for comparison.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/dtype.h"

namespace halfstep::formats::onnx {

struct Recorded {
  std::vector<std::string> values;    ///< in the order of the new outputs, which are last
  std::vector<std::string> left_out;  ///< in a branch or a loop inside of a Scan, which can only stack equal extents
};

/// Adds an output to the file at `path` for each of these values, which have no other name in its graphs. The output
/// holds the elements of all executions, concatenated. A branch that is not taken adds none, a Loop carries the
/// elements of its iterations, and a Scan stacks them. Throws if the file has no such value inside of a node.
Recorded record_inside(const std::filesystem::path& path, const std::map<std::string, DType>& values);

}  // namespace halfstep::formats::onnx
