// Programs that are compared. Internal to this room.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/compile.h"

namespace halfstep::verify {

/// `model` with the extents of these inputs, whose outputs are called as their values are: an output may have the name
/// of the layer whose codes are meant.
Model sized_for(const Model& model, const Tensors& inputs);

std::vector<Dims> extents_of(const Tensors& inputs);

/// A program for these inputs that gives the values `fetch`.
runtime::Program program_of(const Model& model, const Tensors& inputs, std::vector<std::string> fetch);

}  // namespace halfstep::verify
