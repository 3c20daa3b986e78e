// ONNX's numbers of element types (TensorProto.DataType).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "halfstep/core/base/dtype.h"

namespace halfstep::formats::onnx {

/// Returns ONNX's name, such as "float16" or "uint32", or "type 77" for an undefined number.
std::string onnx_type_name(int64_t number);

/// Returns nothing if Halfstep lacks the type.
std::optional<DType> find_dtype(int64_t number);

/// Throws `unsupported` if Halfstep lacks the type, or bad_input if ONNX does not define it. `where` starts the
/// message.
DType dtype_of(int64_t number, const std::string& where);

/// Returns ONNX's number of the type.
int64_t onnx_type_of(DType dtype);

}  // namespace halfstep::formats::onnx
