// Platform records: creation, checks and comparison.
#pragma once

#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/quant/platform/platform_record.h"

namespace halfstep::api {

using quant::Platform;

/// Returns the platform selected by the options, with their overrides applied. Throws Error for an unknown name or an
/// invalid override.
Platform load_platform(const TargetOptions& target);

/// All problems of a record.
struct PlatformCheck {
  std::string file;
  std::vector<Diagnostic> objections;
  bool holds() const { return objections.empty(); }
};

/// Checks a built-in platform or a file. Throws bad_input if there is no such record.
PlatformCheck check_platform(const std::string& name_or_path);

/// Returns the text of a record named `name` with the same behaviour as `from`, and a comment for each key. Throws
/// bad_input for an invalid name or the name of a built-in platform.
std::string new_platform(const std::string& name, const Platform& from);

/// Two platforms and their differences.
struct PlatformComparison {
  std::string first, second;  ///< display names
  std::vector<quant::RecordDifference> differences;
};
/// Lists the keys in which two resolved records differ.
PlatformComparison compare_platforms(const Platform& first, const Platform& second);

}  // namespace halfstep::api
