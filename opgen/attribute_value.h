// Attribute values in YAML.
#pragma once

#include <optional>
#include <string_view>

#include "halfstep/core/base/attribute.h"
#include "opgen/yaml.h"

namespace halfstep::opgen {

/// Infers the type from the notation: 1 int, 1.0 float, true bool, other text string, and lists of these.
Attribute infer_value(const Yaml& yaml);

/// Reads a value with the type of `example`. Throws for a value of another type.
Attribute value_like(const Yaml& yaml, const Attribute& example);

/// Returns an empty value of "int", "float", "bool", "string", "ints", "floats" or "strings", or nullopt for another
/// word.
std::optional<Attribute> empty_value(std::string_view type);

}  // namespace halfstep::opgen
