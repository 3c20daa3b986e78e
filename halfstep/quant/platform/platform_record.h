// A platform as the record that it is: complete, in one order, with comments; and what sets two of them apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/platform/record_keys.h"

namespace halfstep::quant {

/// A key with what a platform has there, in YAML on one line. Rules of a list are one each: "legal[0]".
struct RecordField {
  const RecordKey* key;
  std::string path, value;
};

/// All keys that hold values, in the order of platform_keys().
std::vector<RecordField> fields(const Platform& platform);

/// A record that parse_platform reads as the same platform. With comments each key says what it is and may have.
std::string record_text(const Platform& platform, bool commented);

/// A key on which two platforms differ; nothing where one has no such rule.
struct RecordDifference {
  std::string path;
  std::optional<std::string> first, second;
};

/// In what the chips can do: names and docs are not compared.
std::vector<RecordDifference> differences(const Platform& first, const Platform& second);

}  // namespace halfstep::quant
