// Decisions made when quantizers were inserted. They are stored in the Model, and all code that processes a quantized
// network follows them.
#pragma once

#include <map>
#include <set>
#include <string>

namespace halfstep {

struct Model;

/// Reasons why operators stay in float, by name of the operator.
using FloatOperators = std::map<std::string, std::string>;

/// Platform rule that placed a quantizer after a value, by name of the value. Platforms without their own rules have
/// none.
using QuantizerReasons = std::map<std::string, std::string>;

/// Deviations from the well-known tool of users, by name of the value.
using Deviations = std::map<std::string, std::string>;

/// Scales of quantizers of the first and last layers, which have bit widths of their own.
using FirstLastScales = std::set<std::string>;

/// Throws for a network without this record, made by an early version.
const FirstLastScales& first_last_scales(const Model& model);

}  // namespace halfstep
