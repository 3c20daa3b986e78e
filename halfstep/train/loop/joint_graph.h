// A network and its gradients as one graph, for a loss that is computed elsewhere.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::train {

/// `model` (float or prepared) in training mode on arguments of these extents: the form to differentiate. A prepared
/// network runs on codes, but in float if its quantizers have learning rules of their own
/// (core/ir/metadata/learned_quantizer.h).
Model differentiable_form(const Model& model, const std::map<std::string, Dims>& extents);

/// Names of the parameters that must stay positive: learned scales and learned range limits.
std::set<std::string> learned_scales(const Model& network);

struct JointGraph {
  Model model;
  std::map<std::string, std::string> seeds;      ///< for each float output, the argument with its gradient
  std::map<std::string, std::string> gradients;  ///< for each wanted name, the output with its gradient
};

/// The outputs of `model` and the gradients of `wanted`, which names f32 parameters and arguments. A name that no
/// output depends on has no gradient. Throws (unsupported), with the node's name, if an operator on the path has no
/// gradient.
JointGraph joint_graph(const Model& model, const std::map<std::string, Dims>& extents,
                       const std::vector<std::string>& wanted);

}  // namespace halfstep::train
