// Functions of a C program that the network calls, each included once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::formats::c {

/// Replacements of `@word@` in a template.
using Words = std::map<std::string, std::string, std::less<>>;

/// Functions in the order of their first use, so that callees come before callers.
class Kernels {
 public:
  /// Adds the template halfstep/formats/c/text/FILE.c with these words. Every word of the template must be defined.
  void use(std::string_view file, const Words& words = {});
  /// Returns the text without functions in `others`.
  std::string text(const Kernels& others = {}) const;

 private:
  std::vector<std::string> functions_;
};

}  // namespace halfstep::formats::c
