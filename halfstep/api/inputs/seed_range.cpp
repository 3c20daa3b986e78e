#include "halfstep/api/inputs/seed_range.h"

#include <fmt/format.h>

#include <charconv>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/status.h"

namespace halfstep::api {

SeedRange parse_seed_range(const std::string& text, const std::string& where) {
  const auto number = [&](const std::string& digits) {
    uint64_t seed = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    if (error != std::errc() || end != digits.data() + digits.size())
      fail(errors::option_of_other_form(where, text, "A:B, or A for one"));
    return seed;
  };
  const size_t colon = text.find(':');
  const uint64_t first = number(text.substr(0, colon));
  return {first, colon == std::string::npos ? first + 1 : number(text.substr(colon + 1))};
}

std::string to_text(const SeedRange& seeds) {
  return seeds.last == seeds.first + 1 ? fmt::format("{}", seeds.first) : fmt::format("{}:{}", seeds.first, seeds.last);
}

}  // namespace halfstep::api
