// Where records of platforms are: built into the library, or in files.
#pragma once

#include <string>
#include <vector>

namespace halfstep::quant {

/// A record as somebody wrote it; `file` is for messages, and what paths inside are seen from.
struct RecordSource {
  std::string text, file;
};

/// Names of the built-in records.
std::vector<std::string> platform_names();

/// Whether a built-in record has that name, in any case.
bool is_built_in(const std::string& name);

/// Of a built-in name (in any case) or the path of a YAML file, seen from the folder of the file `from`. Throws where
/// there is none.
RecordSource find_record(const std::string& name_or_path, const std::string& from = "");

}  // namespace halfstep::quant
