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
  int64_t nodes = 0;
  std::vector<std::string> approximated;  ///< layers whose codes may differ from those of the Model
};

/// Writes an ONNX file: a float or prepared `network` in float, a prepared network or an integer program on codes.
ExportResult export_onnx(const Model& network, const std::filesystem::path& out, const ExportOptions& options = {});

}  // namespace halfstep::api
