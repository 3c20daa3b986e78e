// Which random networks there are: the numbers that they are made of.
#pragma once

#include <cstdint>
#include <string>

namespace halfstep::api {

/// Seeds from `first` to before `last`.
struct SeedRange {
  uint64_t first = 0, last = 1000;
};

/// "A:B", or "A" for one seed. Errors start with `where`.
SeedRange parse_seed_range(const std::string& text, const std::string& where);
std::string to_text(const SeedRange& seeds);

}  // namespace halfstep::api
