// Location in the records. Every message starts with it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "halfstep/core/base/status.h"

namespace halfstep::opgen {

struct Source {
  std::string file;  ///< "ops/conv.yaml", relative to the parent folder of the schema's folder
  int line = 0;
  std::string path;  ///< "conv2d.rules.c4"
};

/// Returns "ops/conv.yaml:14: conv2d.rules.c4".
inline std::string to_string(const Source& source) {
  return fmt::format("{}:{}{}{}", source.file, source.line, source.path.empty() ? "" : ": ", source.path);
}

/// Returns the location of a key below `source`.
inline Source at_key(Source source, const std::string& key) {
  source.path += "." + key;
  return source;
}

template <class... Args>
[[noreturn]] void fail_at(const Source& source, fmt::format_string<Args...> format, Args&&... args) {
  fail(
      errors::record_wrong(fmt::format("{}: {}", to_string(source), fmt::format(format, std::forward<Args>(args)...))));
}

}  // namespace halfstep::opgen
