// Extents of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/dtype.h"

namespace halfstep {

/// Extents, outermost first. kUnknown marks an extent that is known only at compile time of a Program.
using Dims = std::vector<int64_t>;
inline constexpr int64_t kUnknown = -1;

/// Largest tensor that Halfstep makes, in elements: keeps every byte count inside int64.
inline constexpr int64_t kMaxElements = int64_t{1} << 48;

/// Number of elements; throws when an extent is unknown or the product passes kMaxElements.
int64_t count_elements(std::span<const int64_t> dims);

/// "[1, 3, ?, 8]".
std::string to_string(std::span<const int64_t> dims);
/// An exact match, so that Dims do not convert to an Attribute of whole numbers instead.
inline std::string to_string(const Dims& dims) { return to_string(std::span<const int64_t>(dims)); }

/// A complete element type and extents. There is no "undefined" type.
struct Type {
  DType dtype;
  Dims dims;
  bool operator==(const Type&) const = default;
  bool is_static() const;
};

/// "f32[1, 3, ?, 8]".
std::string to_string(const Type& type);

}  // namespace halfstep
