// Export of a network to ONNX.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::api {

/// Result of `export_onnx`.
struct ExportResult {
  int64_t nodes = 0;                      ///< number of nodes in the file
  std::vector<std::string> approximated;  ///< layers whose codes may differ from those of the Model
};

/// Writes an ONNX file, atomically: a float or prepared `network` in float, a prepared network or an integer program on
/// codes. Default is `qoperator` for an integer program, and `float` for others. Throws bad_input for a format that the
/// stage does not have, an opset that the writer lacks, and a path that cannot be written. Throws unsupported for an
/// operator without a form in the format, and for a requantization other than float32 unless `options.approximate` is
/// set. Nothing is written then.
ExportResult export_onnx(const Model& network, const std::filesystem::path& out, const ExportOptions& options = {});

}  // namespace halfstep::api
