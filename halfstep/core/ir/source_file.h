// How a model file holds Model::source (model.h says under which keys). Internal to this room.
#pragma once

#include <memory>
#include <string>

#include "halfstep/core/files/safetensors.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::detail {

/// As a file holds it: codes that the format lacks are packed.
Tensor packed(const Tensor& tensor);

/// The inverse for what `declared` says that the tensor is; `name` of the file starts the messages.
Tensor unpacked(const Tensor& tensor, Value declared, const std::string& name);

/// Adds the source of `model`, whose own tensors `file` has already. What the two have in common stands there once.
void add_source(io::TensorFile& file, const Model& model);

/// The source that `file` holds, or null; takes the tensors that are its own out. Trusts nothing: throws Error, `name`
/// starting the message.
std::shared_ptr<const Source> take_source(io::TensorFile& file, const std::string& name);

}  // namespace halfstep::detail
