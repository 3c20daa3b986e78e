// Ranges of seeds for random networks.
#pragma once

#include <cstdint>
#include <string>

namespace halfstep::api {

/// Seeds from `first` to `last` - 1.
struct SeedRange {
  uint64_t first = 0, last = 1000;
};

/// Parses "A:B", or "A" for one seed. Errors start with `where`.
SeedRange parse_seed_range(const std::string& text, const std::string& where);
std::string to_text(const SeedRange& seeds);

}  // namespace halfstep::api
