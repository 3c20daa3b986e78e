// A network as an ONNX file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::api {

struct ExportResult {
  int64_t nodes = 0;
  std::vector<std::string> approximated;  ///< layers whose codes may differ from the Model's
};

/// Writes a float or prepared `network` as a float ONNX file, a prepared or integer one as one on codes.
ExportResult export_onnx(const Model& network, const std::filesystem::path& out, const ExportOptions& options = {});

}  // namespace halfstep::api
