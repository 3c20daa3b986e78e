// The functions of a C program: those that the network calls, each once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::formats::c {

/// What stands for `@word@` in a template.
using Words = std::map<std::string, std::string, std::less<>>;

/// Functions in the order in which they were asked for first, so that what is called comes before who calls it.
class Kernels {
 public:
  /// The template halfstep/formats/c/text/FILE.c with these words; every word of the template must be there.
  void use(std::string_view file, const Words& words = {});
  /// But for those that `others` have.
  std::string text(const Kernels& others = {}) const;

 private:
  std::vector<std::string> functions_;
};

}  // namespace halfstep::formats::c
