// Reads the parameters of a program from a .pdiparams file, which has tensors in sequence, without names.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "halfstep/core/files/mapped_file.h"
#include "halfstep/formats/paddle/paddle_program.h"

namespace halfstep::formats::paddle {

/// Returns the tensors of the file for `claims`, in the order of their names. Avoids a copy if the elements are
/// aligned. Throws bad_input that starts with `name` if the file has fewer, more or other tensors than the program
/// declares.
std::map<std::string, Tensor> read_parameters(const std::shared_ptr<const io::MappedFile>& owner,
                                              std::span<const std::byte> bytes,
                                              const std::map<std::string, Claim>& claims, const std::string& name);

}  // namespace halfstep::formats::paddle
