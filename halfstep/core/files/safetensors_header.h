// The JSON header of a safetensors file, read without trust.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/shape.h"

namespace halfstep::io {

/// One tensor as the header states it, unchecked.
struct HeaderEntry {
  std::string dtype;
  Dims shape;
  std::vector<int64_t> offsets;
};

struct SafetensorsHeader {
  std::map<std::string, HeaderEntry> tensors;
  std::map<std::string, std::string> metadata;
};

/// Checks syntax, UTF-8, known keys, types of values and names given twice. Memory is proportional to the text.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file);

}  // namespace halfstep::io
