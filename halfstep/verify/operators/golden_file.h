// Golden files: stored results of the original operators. FILE.json lists the cases. FILE.safetensors next to it has
// the tensors.
//
//   {"id": "...", "op": "...", "attr": {...}, "in": {PORT: TENSOR or [TENSORS]}, "out": {PORT: TENSOR or null},
//    "type": {PORT: "int4", ...}}
//
// If the original refuses a case, it has "error" in place of "out".
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// One application of an operator, with the names of its own format in the order of the file.
struct GoldenCase {
  std::string id, op;
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::vector<std::pair<std::string, std::vector<Tensor>>> in;  ///< several tensors for a list
  std::vector<std::pair<std::string, Tensor>> out;              ///< undefined if not produced
  std::optional<std::string> error;                             ///< message of the original if it refuses the case
};

/// Throws Error (bad_input) with the file, the case, and the mistake: unreadable JSON, a missing key, a tensor that the
/// other file does not contain, or an unknown type.
std::vector<GoldenCase> read_golden(const std::filesystem::path& path);

}  // namespace halfstep::verify
