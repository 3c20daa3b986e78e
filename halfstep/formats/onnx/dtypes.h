// ONNX's numbers of element types (TensorProto.DataType).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "halfstep/core/base/dtype.h"

namespace halfstep::formats::onnx {

/// "float16", "uint32": as ONNX calls it; "type 77" for a number that it does not have.
std::string onnx_type_name(int64_t number);

/// Nothing where Halfstep lacks the type.
std::optional<DType> find_dtype(int64_t number);

/// The same; throws `unsupported`, or bad_input where ONNX has no such type. `where` starts the message.
DType dtype_of(int64_t number, const std::string& where);

/// The inverse.
int64_t onnx_type_of(DType dtype);

}  // namespace halfstep::formats::onnx
