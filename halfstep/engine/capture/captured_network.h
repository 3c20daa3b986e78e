// Converts a function of arrays into a network.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/capture/array.h"

namespace halfstep::capture {

struct NetworkInput {
  std::string name;
  Type type;  ///< dimensions may be dynamic (kUnknown)
};

/// The network that `body` computes for inputs of these types, traced without elements. Other arrays that it reads
/// become tensors: parameters if they require a gradient, else constants. `name_of` names them ("" for any name).
/// Operations have the source lines that they come from. Throws Error if `body` needs the value of an element, because
/// a trace has no values.
Model network_of(const std::string& name, const std::vector<NetworkInput>& inputs,
                 const std::function<Arrays(const Arrays&)>& body, const std::vector<std::string>& output_names,
                 const std::function<std::string(const Array&)>& name_of);

}  // namespace halfstep::capture
