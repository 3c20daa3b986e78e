// What layers are called in the program that a file was exported from, and where they stand in it.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/location.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

/// Names for what the node computes, the best first; none where the file does not say from which module it came.
/// PyTorch's exporter writes the modules around a node, and weights have the path of theirs: a layer with weights is
/// called after the module that owns them ("layer1.0.conv1"), a module without weights as itself ("features.0.2"), and
/// what a module's own code computes after both ("layer1.0.add").
std::vector<std::string> module_names(const proto::Node& node);

/// The line of the user's program that the node comes from, by its file's base name: the innermost one that is not
/// PyTorch's own. Unknown where the file does not say it.
Location source_line(const proto::Node& node);

}  // namespace halfstep::formats::onnx
