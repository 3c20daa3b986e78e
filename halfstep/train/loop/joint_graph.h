// A network and its gradients as one graph, for a loss that someone else computes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::train {

/// `model` (float or prepared) on arguments of those extents, in training mode: the form that gradients are taken of. A
/// prepared network runs on codes, but in float where quantizers learn in ways of their own
/// (core/ir/metadata/learned_quantizer.h).
Model differentiable_form(const Model& model, const std::map<std::string, Dims>& extents);

/// Scales that training learns, and learned ends of ranges: parameters that stay positive, by name.
std::set<std::string> learned_scales(const Model& network);

struct JointGraph {
  Model model;
  std::map<std::string, std::string> seeds;      ///< by output of floats: the argument that takes its gradient
  std::map<std::string, std::string> gradients;  ///< by what was wanted: the output that is its gradient
};

/// The outputs of `model` and the gradients of `wanted`, which names parameters and arguments (f32): what no output
/// depends on has none. Throws unsupported, naming the node, where an operator on the way has no gradient.
JointGraph joint_graph(const Model& model, const std::map<std::string, Dims>& extents,
                       const std::vector<std::string>& wanted);

}  // namespace halfstep::train
