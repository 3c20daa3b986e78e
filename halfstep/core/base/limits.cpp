#include "halfstep/core/base/limits.h"

#include <fmt/format.h>

#include <cmath>

namespace halfstep {

bool Limits::contains(double number) const {
  const bool is_enough = above ? number > least : number >= least;
  const bool is_too_much = below ? number >= most : number > most;
  return std::isfinite(number) && is_enough && !is_too_much && (!is_whole || number == std::floor(number));
}

std::string Limits::text() const {
  if (is_whole && most >= 1e9) return fmt::format("at least {:.0f}", least);
  if (is_whole) return fmt::format("{:.0f} to {:.0f}", least, most);
  if (!above && !below) return fmt::format("{:g} to {:g}", least, most);
  return fmt::format("{} {:g} and {} {:g}", above ? "above" : "at least", least, below ? "below" : "at most", most);
}

}  // namespace halfstep
