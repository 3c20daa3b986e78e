// Finds the records of platforms, built into the library or in files.
#pragma once

#include <string>
#include <vector>

namespace halfstep::quant {

/// The text of a record before it is resolved. `file` is the name for messages, and the base of relative paths inside.
struct RecordSource {
  std::string text, file;
};

/// Names of the built-in records.
std::vector<std::string> platform_names();

/// Whether a built-in record has this name (case-insensitive).
bool is_built_in(const std::string& name);

/// Reads a built-in record by name (case-insensitive), or a YAML file. A relative path starts at the folder of the file
/// `from`. Throws if neither exists.
RecordSource find_record(const std::string& name_or_path, const std::string& from = "");

}  // namespace halfstep::quant
