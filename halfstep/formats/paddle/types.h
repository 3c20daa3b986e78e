// Paddle's names and numbers of element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "halfstep/core/base/dtype.h"

namespace halfstep::formats::paddle {

struct ElementType {
  int64_t number;         ///< VarType.Type of a ProgramDesc
  std::string_view tag;   ///< type tag in PIR: "t_f32"
  std::string_view name;  ///< "float32"
  std::string_view ours;  ///< name for parse_dtype, which may lack the type
};

/// Return nullptr if there is no such type.
const ElementType* find_type_by_number(int64_t number);
const ElementType* find_type_by_tag(std::string_view tag);
const ElementType* find_type_by_name(std::string_view name);

/// Returns nothing if Halfstep lacks the type, or if `type` is null.
std::optional<DType> dtype_of(const ElementType* type);

}  // namespace halfstep::formats::paddle
