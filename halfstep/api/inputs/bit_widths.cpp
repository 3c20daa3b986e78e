#include "halfstep/api/inputs/bit_widths.h"

#include <fmt/format.h>

#include <charconv>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/limits.h"
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
  if (bits.weights == bits.activations) return fmt::format("{} bits", bits.weights);
  return fmt::format("{}-bit weights, {}-bit activations", bits.weights, bits.activations);
}

LayerBits parse_layer_bits(const std::string& text, const std::string& where) {
  const auto wrong = [&] {
    fail(errors::option_of_other_form(where, text, "LAYERS=WEIGHTS/ACTIVATIONS, as in conv*=4/8"));
  };
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) wrong();
  const size_t slash = text.find('/', equals);
  if (slash == std::string::npos || text.size() == equals + 2) wrong();
  const auto number = [&](const std::string& digits) -> std::optional<int> {
    if (digits.empty()) return std::nullopt;
    if (digits.size() > 2 || digits.find_first_not_of("0123456789") != std::string::npos) wrong();
    const int bits = std::stoi(digits);
    limits::kBits.require(where, bits);
    return bits;
  };
  return {text.substr(0, equals), number(text.substr(equals + 1, slash - equals - 1)), number(text.substr(slash + 1))};
}

std::string to_text(const LayerBits& bits) {
  const auto number = [](const std::optional<int>& width) { return width ? std::to_string(*width) : std::string(); };
  return fmt::format("{}={}/{}", bits.selector, number(bits.weights), number(bits.activations));
}

}  // namespace halfstep::api
