// Platform records as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "halfstep/api/tools/platform.h"

namespace halfstep::report {

/// One line for each mistake.
std::string as_text(const api::PlatformCheck& check);
std::string as_json(const api::PlatformCheck& check);

/// The resolved record.
std::string as_text(const quant::Platform& platform);
std::string as_json(const quant::Platform& platform);

/// The values of both platforms, for keys that differ.
std::string as_text(const api::PlatformComparison& found);
std::string as_json(const api::PlatformComparison& found);

/// Platforms with their main differences.
std::string as_text(const std::vector<quant::Platform>& platforms);
std::string as_json(const std::vector<quant::Platform>& platforms);

/// Every key of a record.
std::string record_keys_text();
std::string record_keys_json();

}  // namespace halfstep::report
