// How a model file holds Model::source (model.h says under which keys). Internal to this room.
#pragma once

#include <memory>
#include <string>

#include "halfstep/core/files/safetensors.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::detail {

inline constexpr const char* kMetadata = "metadata";  ///< behind a prefix the key of the metadata

/// As a file holds it: codes that the format lacks are packed.
Tensor packed(const Tensor& tensor);

/// The inverse for what `declared` says that the tensor is; `name` of the file starts the messages.
Tensor unpacked(const Tensor& tensor, Value declared, const std::string& name);

/// Adds the source of `model`, whose own tensors `file` has already. What the two have in common stands there once.
void add_source(io::TensorFile& file, const Model& model);

/// The source that `file` holds, or null; takes the tensors that are its own out. Trusts nothing: throws Error, `name`
/// starting the message.
std::shared_ptr<const Source> take_source(io::TensorFile& file, int version, const std::string& name);

/// The metadata of `graph` in a file of this version, whose keys begin with `prefix`: "halfstep." or that of the
/// source. Throws Error, `name` starting the message.
Metadata metadata_in(const io::TensorFile& file, int version, const std::string& prefix, const Graph& graph,
                     const std::string& name);

}  // namespace halfstep::detail
