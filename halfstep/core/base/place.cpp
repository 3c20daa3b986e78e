#include "halfstep/core/base/place.h"

#include <charconv>

namespace halfstep {

std::string to_string(Place place) {
  switch (place.kind) {
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::sim: return "sim";
    case DeviceKind::cuda: return "cuda:" + std::to_string(place.index);
  }
  return {};
}

std::optional<Place> parse_place(std::string_view text) {
  if (text == "cpu") return Place{DeviceKind::cpu, 0};
  if (text == "sim") return Place{DeviceKind::sim, 0};
  constexpr std::string_view kCuda = "cuda:";
  if (text == "cuda") return Place{DeviceKind::cuda, 0};
  if (!text.starts_with(kCuda)) return std::nullopt;
  const std::string_view digits = text.substr(kCuda.size());
  int index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || index < 0) return std::nullopt;
  return Place{DeviceKind::cuda, index};
}

}  // namespace halfstep
