#include "halfstep/core/base/dtype.h"

#include <array>

namespace halfstep {
namespace {

constexpr std::array<std::string_view, kDTypeCount> kDTypeNames = {
    "f32",  "f64", "f16", "bf16", "i4",        "i8",          "u8",      "i16",         "u16",       "i32", "i64",
    "bool", "i2",  "u2",  "u4",   "f8_e4m3fn", "f8_e4m3fnuz", "f8_e5m2", "f8_e5m2fnuz", "f4_e2m1fn", "u32", "u64"};
}

std::string_view name(DType dtype) { return kDTypeNames[static_cast<size_t>(dtype)]; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (int i = 0; i < kDTypeCount; ++i) {
    if (kDTypeNames[static_cast<size_t>(i)] == text) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace halfstep
