// Export of an integer program as C99.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::api {

/// Result of `export_c`.
struct ExportCResult {
  std::vector<std::string> files;               ///< file names, relative to the folder
  int64_t samples = 0;                          ///< number of samples in the test program
  size_t arena_bytes = 0;                       ///< memory for values between layers, in bytes
  size_t weight_bytes = 0, constant_bytes = 0;  ///< read-only data in bytes: weights, and all other constants
  bool uses_floats = false;                     ///< whether NAME_run has float operations
  std::vector<std::string> fallbacks;           ///< layers computed in float
};

/// Writes NAME.h, NAME.c and a test program into `folder`, for a prepared network or an integer program. The test
/// samples come from `data`. All errors are thrown before anything is written.
ExportCResult export_c(const Model& network, const Dataset& data, const std::filesystem::path& folder,
                       const ExportCOptions& options = {});

/// Exports with the samples that the prepared network stores.
ExportCResult export_c(const Model& network, const std::filesystem::path& folder, const ExportCOptions& options = {});

}  // namespace halfstep::api
