#include "halfstep/formats/paddle/types.h"

#include <algorithm>
#include <array>

namespace halfstep::formats::paddle {
namespace {

constexpr std::array<ElementType, 16> kTypes = {{{0, "t_bool", "bool", "bool"},
                                                 {1, "t_i16", "int16", "i16"},
                                                 {2, "t_i32", "int32", "i32"},
                                                 {3, "t_i64", "int64", "i64"},
                                                 {4, "t_f16", "float16", "f16"},
                                                 {5, "t_f32", "float32", "f32"},
                                                 {6, "t_f64", "float64", "f64"},
                                                 {20, "t_ui8", "uint8", "u8"},
                                                 {21, "t_i8", "int8", "i8"},
                                                 {22, "t_bf16", "bfloat16", "bf16"},
                                                 {23, "t_c64", "complex64", ""},
                                                 {24, "t_c128", "complex128", ""},
                                                 {32, "t_f8e4m3fn", "float8_e4m3fn", "f8_e4m3fn"},
                                                 {33, "t_f8e5m2", "float8_e5m2", "f8_e5m2"},
                                                 {37, "t_ui32", "uint32", "u32"},
                                                 {38, "t_ui64", "uint64", "u64"}}};

template <class Field, class Value>
const ElementType* find(Field ElementType::*field, const Value& value) {
  const auto found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const ElementType& t) { return t.*field == value; });
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace

const ElementType* find_type_by_number(int64_t number) { return find(&ElementType::number, number); }
const ElementType* find_type_by_tag(std::string_view tag) { return find(&ElementType::tag, tag); }
const ElementType* find_type_by_name(std::string_view name) { return find(&ElementType::name, name); }

std::optional<DType> dtype_of(const ElementType* type) {
  return type == nullptr ? std::nullopt : parse_dtype(type->ours);
}

}  // namespace halfstep::formats::paddle
