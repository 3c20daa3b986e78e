// What was decided about a quantized network when quantizers were inserted. It travels with the Model, and whatever
// reads a quantized network obeys it.
#pragma once

#include <map>
#include <set>
#include <string>

namespace halfstep {

struct Model;

/// By name of the operator that computes in float, the reason why it has no codes.
using FloatOperators = std::map<std::string, std::string>;

/// By name of the value, which rule of the platform put a quantizer behind it. Platforms without rules of their own
/// have none.
using QuantizerReasons = std::map<std::string, std::string>;

/// By name of the value, what the tool that users know does there otherwise.
using Deviations = std::map<std::string, std::string>;

/// Scales of quantizers at the ends of the network, whose widths are their own.
using EdgeScales = std::set<std::string>;

/// Throws for a network that does not say so: one of an early version.
const EdgeScales& edge_scales(const Model& model);

}  // namespace halfstep
