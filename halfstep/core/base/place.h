// Device that holds a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace halfstep {

enum class DeviceKind { cpu, sim, cuda };

struct Place {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  auto operator<=>(const Place&) const = default;
};

/// Returns "cpu", "sim", "cuda:0".
std::string to_string(Place place);
std::optional<Place> parse_place(std::string_view text);

}  // namespace halfstep
