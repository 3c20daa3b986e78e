// Builds the programs to compare. Internal to halfstep/verify/equivalence.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/compile.h"

namespace halfstep::verify {

/// `model` specialized to the shapes of these inputs. Its outputs get the names of their values, because an output may
/// have the name of another layer's codes.
Model sized_for(const Model& model, const Tensors& inputs);

std::vector<Dims> extents_of(const Tensors& inputs);

/// A program for these inputs that returns the values `fetch`.
runtime::Program program_of(const Model& model, const Tensors& inputs, std::vector<std::string> fetch);

}  // namespace halfstep::verify
