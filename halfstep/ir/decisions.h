// Which operators of a quantized network compute in float. Decided once, when quantizers are inserted; the decision
// travels with the Model, and whatever reads a quantized network obeys it.
#pragma once

#include <map>
#include <string>

#include "halfstep/ir/model.h"

namespace halfstep {

/// By name of the operator, the reason why it has no codes.
using FloatOperators = std::map<std::string, std::string>;

/// Into the note of a prepared network or of an integer program; none are no note.
void set_float_operators(Model& model, const FloatOperators& operators);

/// Throws bad_input for a note that is no such list.
FloatOperators float_operators(const Model& model);

}  // namespace halfstep
