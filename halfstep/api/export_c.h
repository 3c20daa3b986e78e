// An integer program as C99.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::api {

struct ExportCResult {
  std::vector<std::string> files;  ///< names, in the folder
  int64_t samples = 0;             ///< in the test program
  size_t arena_bytes = 0;          ///< of memory between layers
  size_t weight_bytes = 0, constant_bytes = 0;
  bool uses_floats = false;
  std::vector<std::string> islands;  ///< layers in float
};

/// Writes a prepared network or an integer program into `folder` as NAME.h, NAME.c and the test program. Its samples
/// are those of `data`, or without it those that a prepared network keeps. Throws before anything is written.
ExportCResult export_c(const Model& network, const std::filesystem::path& folder, const ExportCOptions& options = {},
                       const Dataset* data = nullptr);

}  // namespace halfstep::api
