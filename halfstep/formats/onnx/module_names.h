// Names and source lines of layers in the program that exported the file.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/location.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

/// Returns names for the result of the node, best first. Returns none if the file does not record its module. PyTorch's
/// exporter records the modules around a node, and weights have the path of their module. A layer with weights is named
/// after the module that owns them ("layer1.0.conv1"), and a module without weights after itself ("stem.0.2").
/// Other operations of a module are named after both ("layer1.0.add").
std::vector<std::string> module_names(const proto::Node& node);

/// Returns the line of the user's program that made the node, with the base name of its file. It is the innermost line
/// outside of PyTorch. Unknown if the file does not record it.
Location source_line(const proto::Node& node);

}  // namespace halfstep::formats::onnx
