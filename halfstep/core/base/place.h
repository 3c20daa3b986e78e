// Device that holds a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace halfstep {

/// cpu, cuda, or sim: a second device in host memory, for tests without an accelerator.
enum class DeviceKind { cpu, sim, cuda };

/// A device of a kind, by index. The default is the CPU.
struct Place {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  auto operator<=>(const Place&) const = default;
};

/// Returns "cpu", "sim", "cuda:0".
std::string to_string(Place place);
/// Inverse of to_string. Accepts "cuda" for "cuda:0". Returns nullopt for other text.
std::optional<Place> parse_place(std::string_view text);

}  // namespace halfstep
