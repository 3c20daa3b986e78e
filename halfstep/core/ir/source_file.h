// Storage of Model::source in a model file (model.h lists the keys). Internal to this room.
#pragma once

#include <memory>
#include <string>

#include "halfstep/core/files/safetensors.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::detail {

inline constexpr const char* kMetadata = "metadata";  ///< key of the metadata, after a prefix

/// Returns the tensor as stored in a file: codes of dtypes that the format lacks are packed.
Tensor packed(const Tensor& tensor);

/// Inverse of `packed`. `declared` determines the type, and `name` of the file starts the messages.
Tensor unpacked(const Tensor& tensor, Value declared, const std::string& name);

/// Adds the source of `model` to `file`, which already has the model's own tensors. Common tensors are stored once.
void add_source(io::TensorFile& file, const Model& model);

/// Returns the source in `file`, or null. Removes the source's own tensors from `file`. Trusts nothing and throws Error
/// that starts with `name`.
std::shared_ptr<const Source> take_source(io::TensorFile& file, int version, const std::string& name);

/// Returns the metadata of `graph` from a file of this version. The keys begin with `prefix`: "halfstep." or the prefix
/// of the source. Throws Error that starts with `name`.
Metadata metadata_in(const io::TensorFile& file, int version, const std::string& prefix, const Graph& graph,
                     const std::string& name);

}  // namespace halfstep::detail
