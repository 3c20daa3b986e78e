// A function of arrays as a network, for whatever works on networks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

struct NetworkInput {
  std::string name;
  Type type;  ///< extents may be open (kUnknown)
};

/// What `body` computes of inputs of these types, traced without elements. Arrays that it reads besides are tensors:
/// parameters where they require a gradient, else constants; `name_of` calls them, "" for whatever name. Operations
/// have the source lines that they come from. Throws Error for what a trace cannot be: a value that the language asks
/// for.
Model network_of(const std::string& name, const std::vector<NetworkInput>& inputs,
                 const std::function<Arrays(const Arrays&)>& body, const std::vector<std::string>& output_names,
                 const std::function<std::string(const Array&)>& name_of);

}  // namespace halfstep::capture
