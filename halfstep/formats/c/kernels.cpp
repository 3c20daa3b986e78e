#include "halfstep/formats/c/kernels.h"

#include <algorithm>

#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/status.h"

namespace halfstep::formats::c {
namespace {

std::string filled(std::string_view text, const Words& words) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = std::min(text.find('@', at), text.size());
    result += text.substr(at, begin - at);
    if (begin == text.size()) break;
    const size_t end = text.find('@', begin + 1);
    HS_CHECK(end != std::string_view::npos);
    const auto word = words.find(text.substr(begin + 1, end - begin - 1));
    HS_CHECK(word != words.end());
    result += word->second;
    at = end + 1;
  }
  return result;
}

}  // namespace

void Kernels::use(std::string_view file, const Words& words) {
  const auto bytes = embedded("halfstep/formats/c/text/" + std::string(file) + ".c");
  std::string text = filled({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, words);
  if (std::ranges::find(functions_, text) == functions_.end()) functions_.push_back(std::move(text));
}

std::string Kernels::text(const Kernels& others) const {
  std::string text;
  for (const std::string& function : functions_) {
    if (std::ranges::find(others.functions_, function) == others.functions_.end()) text += function + "\n";
  }
  return text;
}

}  // namespace halfstep::formats::c
