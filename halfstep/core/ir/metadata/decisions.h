// What was decided about a quantized network when quantizers were inserted. It travels with the Model, and whatever
// reads a quantized network obeys it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep {

/// By name of the operator that computes in float, the reason why it has no codes.
using FloatOperators = std::map<std::string, std::string>;

/// Into the note of a prepared network or of an integer program; none are no note.
void set_float_operators(Model& model, const FloatOperators& operators);

/// Throws bad_input for a note that is no such list.
FloatOperators float_operators(const Model& model);

/// By name of the value, which rule of the platform put a quantizer behind it.
using QuantizerReasons = std::map<std::string, std::string>;

/// As for operators in float. Platforms without rules of their own have none.
void set_quantizer_reasons(Model& model, const QuantizerReasons& reasons);
QuantizerReasons quantizer_reasons(const Model& model);

/// By name of the value, what the tool that users know does there otherwise.
using Deviations = std::map<std::string, std::string>;
void set_deviations(Model& model, const Deviations& deviations);
Deviations deviations(const Model& model);

/// Scales of quantizers at the ends of the network, whose widths are their own.
using EdgeScales = std::set<std::string>;

void set_edge_scales(Model& model, const EdgeScales& scales);
/// Throws for a network that does not say so: one of an earlier version.
EdgeScales edge_scales(const Model& model);

}  // namespace halfstep
