// Where something stands in the records: every message starts with it.
#pragma once

#include <fmt/format.h>

#include <string>

#include "halfstep/core/base/status.h"

namespace halfstep::opgen {

struct Source {
  std::string file;  ///< "ops/conv.yaml", from the folder above the schema's
  int line = 0;
  std::string path;  ///< "conv2d.rules.c4"
};

/// "ops/conv.yaml:14: conv2d.rules.c4"
inline std::string to_string(const Source& source) {
  return fmt::format("{}:{}{}{}", source.file, source.line, source.path.empty() ? "" : ": ", source.path);
}

/// A key of what stands at `source`.
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
