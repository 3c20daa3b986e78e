// Attribute values in YAML.
#pragma once

#include <optional>
#include <string_view>

#include "halfstep/core/base/attribute.h"
#include "opgen/yaml.h"

namespace halfstep::opgen {

/// The value as its writing shows it: 1 int, 1.0 float, true bool, any other text string, and lists of them.
Attribute infer_value(const Yaml& yaml);

/// The value as one of the type that `example` holds; throws when it is none.
Attribute value_like(const Yaml& yaml, const Attribute& example);

/// An empty value of "int", "float", "bool", "string", "ints", "floats" or "strings"; nothing for another word.
std::optional<Attribute> empty_value(std::string_view type);

}  // namespace halfstep::opgen
