// Evaluates a Model operation by operation with the reference kernels: no compile, no runtime.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Elements that depend on the name and type alone: floats in -1..1 (0.5..1.5 where the name ends in "variance" or
/// "scale"), integers in 0..7.
Tensor sample(const std::string& name, const Type& type);

/// `graph` with sampled contents for every tensor.
Model sample_model(Graph graph);

/// Returns every argument and result by name. Does not change the model's tensors.
std::map<std::string, Tensor> run_reference(const Model& model, const std::map<std::string, Tensor>& arguments);

/// The outputs of the graph by their names, for sampled arguments.
std::map<std::string, Tensor> outputs_for_samples(const Model& model);

}  // namespace halfstep::passes
