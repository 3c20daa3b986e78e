// Reads the parameters of a program: a .pdiparams file, which has tensors one after the other, without names.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "halfstep/core/files/mapped_file.h"
#include "halfstep/formats/paddle/paddle_program.h"

namespace halfstep::formats::paddle {

/// The tensors of the file for `claims`, in the order of their names; without a copy where the elements lie aligned.
/// Throws bad_input that starts with `name` where the file has fewer or more tensors, or others than the program says.
std::map<std::string, Tensor> read_parameters(const std::shared_ptr<const io::MappedFile>& owner,
                                              std::span<const std::byte> bytes,
                                              const std::map<std::string, Claim>& claims, const std::string& name);

}  // namespace halfstep::formats::paddle
