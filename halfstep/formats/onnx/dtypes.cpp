#include "halfstep/formats/onnx/dtypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "halfstep/core/base/status.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats::onnx {
namespace {

struct TypeName {
  std::string_view onnx, ours;
};

/// Type names by ONNX's number. `ours` is the name for parse_dtype, which may lack the type.
constexpr std::array<TypeName, 27> kTypes = {{{"undefined", ""},
                                              {"float32", "f32"},
                                              {"uint8", "u8"},
                                              {"int8", "i8"},
                                              {"uint16", "u16"},
                                              {"int16", "i16"},
                                              {"int32", "i32"},
                                              {"int64", "i64"},
                                              {"string", ""},
                                              {"bool", "bool"},
                                              {"float16", "f16"},
                                              {"float64", "f64"},
                                              {"uint32", "u32"},
                                              {"uint64", "u64"},
                                              {"complex64", ""},
                                              {"complex128", ""},
                                              {"bfloat16", "bf16"},
                                              {"float8e4m3fn", "f8_e4m3fn"},
                                              {"float8e4m3fnuz", "f8_e4m3fnuz"},
                                              {"float8e5m2", "f8_e5m2"},
                                              {"float8e5m2fnuz", "f8_e5m2fnuz"},
                                              {"uint4", "u4"},
                                              {"int4", "i4"},
                                              {"float4e2m1", "f4_e2m1fn"},
                                              {"float8e8m0", ""},
                                              {"uint2", "u2"},
                                              {"int2", "i2"}}};

bool is_known(int64_t number) { return number >= 0 && number < static_cast<int64_t>(kTypes.size()); }

}  // namespace

std::string onnx_type_name(int64_t number) {
  return is_known(number) ? std::string(kTypes[static_cast<size_t>(number)].onnx) : fmt::format("type {}", number);
}

std::optional<DType> find_dtype(int64_t number) {
  if (!is_known(number)) return std::nullopt;
  const std::string_view ours = kTypes[static_cast<size_t>(number)].ours;
  return parse_dtype(ours);
}

DType dtype_of(int64_t number, const std::string& where) {
  if (const auto dtype = find_dtype(number)) return *dtype;
  if (!is_known(number) || number == 0) fail(errors::element_type_unknown(where, number));
  fail(errors::element_type_not_supported(where, onnx_type_name(number)));
}

int64_t onnx_type_of(DType dtype) {
  for (size_t number = 0; number < kTypes.size(); ++number) {
    if (find_dtype(static_cast<int64_t>(number)) == dtype) return static_cast<int64_t>(number);
  }
  return 0;
}

}  // namespace halfstep::formats::onnx
