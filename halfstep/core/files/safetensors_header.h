// The JSON header of a safetensors file. The parser does not trust its input.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::io {

/// One tensor as stated by the header, unchecked.
struct HeaderEntry {
  std::string dtype;
  Dims shape;
  std::vector<int64_t> offsets;
};

struct SafetensorsHeader {
  std::map<std::string, HeaderEntry> tensors;
  std::map<std::string, std::string> metadata;
};

/// Checks syntax, UTF-8, known keys, value types and duplicate names. Memory is proportional to the text.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file);

}  // namespace halfstep::io
