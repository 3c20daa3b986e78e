// The elements of a tensor of an ONNX file.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/mapped_file.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

/// TensorProto.DataLocation of elements that are in a file of their own.
inline constexpr int kExternalData = 1;

/// Element type and extents; throws where there is none, where the type is not supported and where the extents are
/// negative or too large.
Type type_of(const proto::TensorData& tensor, const std::string& where);

/// Elements as raw_data has them: little-endian, those of fewer bits than a byte packed, the lowest first. Of the
/// mapped `owner` without a copy where that is possible.
Tensor from_raw(std::span<const std::byte> bytes, const Type& type, const std::shared_ptr<const io::MappedFile>& owner,
                const std::string& where);

/// Elements that stand in the message or, through `place`, in `file`, which is mapped by `owner` (or null).
Tensor from_message(const proto::TensorData& tensor, const Type& type, std::span<const std::byte> file,
                    const std::shared_ptr<const io::MappedFile>& owner, const std::string& where);

}  // namespace halfstep::formats::onnx
