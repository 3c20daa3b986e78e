// Text output, line by line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace halfstep::opgen {

class Text {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  /// Appends text unchanged.
  void add(std::string_view text) { text_ += text; }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

}  // namespace halfstep::opgen
