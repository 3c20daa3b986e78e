// The elements of a tensor of an ONNX file.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/mapped_file.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

/// TensorProto.DataLocation of elements in a separate file.
inline constexpr int kExternalData = 1;

/// Returns element type and extents. Throws if there is none, if the type is not supported, or if extents are negative
/// or too large.
Type type_of(const proto::TensorData& tensor, const std::string& where);

/// Returns elements from raw_data: little-endian, with elements of less than a byte packed, lowest bits first. Avoids a
/// copy of the bytes mapped by `owner` if possible.
Tensor from_raw(std::span<const std::byte> bytes, const Type& type, const std::shared_ptr<const io::MappedFile>& owner,
                const std::string& where);

/// Returns elements from the message or, through `place`, from `file`, which is mapped by `owner` (or null).
Tensor from_message(const proto::TensorData& tensor, const Type& type, std::span<const std::byte> file,
                    const std::shared_ptr<const io::MappedFile>& owner, const std::string& where);

}  // namespace halfstep::formats::onnx
