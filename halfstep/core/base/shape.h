// Shapes of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/dtype.h"

namespace halfstep {

/// Extents, outermost first. kUnknown marks a dynamic dimension, whose extent is known only when a Program is compiled.
using Dims = std::vector<int64_t>;
inline constexpr int64_t kUnknown = -1;

/// Largest number of elements of a tensor. Keeps every byte count inside int64.
inline constexpr int64_t kMaxElements = int64_t{1} << 48;

/// Number of elements. Throws if an extent is unknown or the product exceeds kMaxElements.
int64_t count_elements(std::span<const int64_t> dims);

/// Returns "[1, 3, ?, 8]".
std::string to_string(std::span<const int64_t> dims);
/// Exact match for Dims, which would otherwise convert to an integer Attribute.
inline std::string to_string(const Dims& dims) { return to_string(std::span<const int64_t>(dims)); }

/// Element type and shape. There is no "undefined" type.
struct Type {
  DType dtype;
  Dims dims;
  bool operator==(const Type&) const = default;
  bool is_static() const;
};

/// Returns "f32[1, 3, ?, 8]".
std::string to_string(const Type& type);

}  // namespace halfstep
