// Golden files: results of the original operators. FILE.json lists the cases, FILE.safetensors beside it has the
// tensors.
//
//   {"id": "...", "op": "...", "attr": {...}, "in": {PORT: TENSOR or [TENSORS]}, "out": {PORT: TENSOR or null},
//    "type": {PORT: "int4", ...}}        with "error" in place of "out" where the original refuses
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// One application of an operator under the names of its own format, in the order of the file.
struct GoldenCase {
  std::string id, op;
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::vector<std::pair<std::string, std::vector<Tensor>>> in;  ///< several tensors where a list is given
  std::vector<std::pair<std::string, Tensor>> out;              ///< undefined: not produced
  std::optional<std::string> error;                             ///< what the original says in place of a result
};

/// Throws Error (bad_input) that names the file, the case, and what is missing or wrong: unreadable JSON, a missing
/// key, a tensor that the other file lacks, an unknown type.
std::vector<GoldenCase> read_golden(const std::filesystem::path& path);

}  // namespace halfstep::verify
