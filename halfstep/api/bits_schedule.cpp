#include "halfstep/api/bits_schedule.h"

#include <fmt/format.h>

#include <charconv>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/status.h"

namespace halfstep::api {
namespace {

int parse_width(std::string_view text, std::string_view stage) {
  int width = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
  if (error != std::errc() || end != text.data() + text.size() || width < 2 || width > 16)
    fail(errors::wrong_stage_of_schedule(stage));
  return width;
}

}  // namespace

StageBits parse_stage_bits(std::string_view text) {
  if (text == "float") return {};
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {parse_width(text, text), parse_width(text, text)};
  return {parse_width(text.substr(0, slash), text), parse_width(text.substr(slash + 1), text)};
}

std::string to_text(const StageBits& bits) {
  if (bits.in_float()) return "float";
  if (bits.weights == bits.features) return fmt::format("{} bits", bits.weights);
  return fmt::format("{}-bit weights, {}-bit features", bits.weights, bits.features);
}

}  // namespace halfstep::api
