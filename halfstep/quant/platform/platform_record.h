// Writes a platform as a complete record in a fixed order, with comments, and compares two platforms.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/platform/record_keys.h"

namespace halfstep::quant {

/// A key and its value in a platform, as YAML on one line. Each rule of a list is one field: "legal[0]".
struct RecordField {
  const RecordKey* key;
  std::string path, value;
};

/// All keys that have values, in the order of platform_keys().
std::vector<RecordField> fields(const Platform& platform);

/// A record that parse_platform reads as the same platform.
std::string record_text(const Platform& platform);
/// Also with the doc and the legal values of each key, as comments.
std::string commented_record_text(const Platform& platform);

/// A key whose value differs between two platforms. A side is empty if it does not have the rule.
struct RecordDifference {
  std::string path;
  std::optional<std::string> first, second;
};

/// Compares the capabilities of two platforms. Ignores names and docs.
std::vector<RecordDifference> differences(const Platform& first, const Platform& second);

}  // namespace halfstep::quant
