// Records of platforms: written, checked and compared.
#pragma once

#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/quant/platform/platform_record.h"

namespace halfstep::api {

using quant::Platform;

/// The platform that the options name, with their overrides. Throws Error for an unknown name or a wrong override.
Platform load_platform(const TargetOptions& target);

/// What is wrong with a record, all of it.
struct PlatformCheck {
  std::string file;
  std::vector<Diagnostic> objections;
  bool holds() const { return objections.empty(); }
};

/// Of a built-in name or a path. Throws bad_input where there is no such record.
PlatformCheck check_platform(const std::string& name_or_path);

/// The text of a record called `name` that does what `from` does, each key with a comment. Throws bad_input for a name
/// that is none for a platform, or that is built in.
std::string new_platform(const std::string& name, const Platform& from);

/// Two platforms, and where they differ.
struct PlatformComparison {
  std::string first, second;  ///< what they are called
  std::vector<quant::RecordDifference> differences;
};
PlatformComparison compare_platforms(const Platform& first, const Platform& second);

}  // namespace halfstep::api
