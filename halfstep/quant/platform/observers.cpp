#include "halfstep/quant/platform/observers.h"

#include <algorithm>

#include "halfstep/core/arith/observation.h"
#include "halfstep/core/base/status.h"

namespace halfstep::quant {
namespace {

struct Row {
  const char *name, *method, *merge;
};

/// Ranges with the merge `widest` keep their calibrated value. Other ranges follow the network during training.
constexpr Row kRows[] = {
    {"minmax", "minmax", "widest"},
    {"ema_minmax", "minmax", "moving"},
    {"mse", "mse", "widest"},
    {"ema_mse", "mse", "moving"},
    {"quantile", "quantile", "widest"},
    {"ema_quantile", "quantile", "moving"},
    {"clip_std", "clip_std", "moving"},
    {"widen_std", "widen_std", "last"},
    {"lsq", "lsq", "last"},
    {"lsq_plus", "lsq_plus", "last"},
    {"power_floor", "power_floor", "widest"},
    {"power_mode", "power_mode", "widest"},
    {"percentile", "percentile", "widest"},
    {"kl", "kl", "widest"},
    {"histogram", "histogram", "widest"},
};

const Row& row_of(const std::string& observer) {
  const auto* row = std::ranges::find_if(kRows, [&](const Row& one) { return one.name == observer; });
  HS_CHECK(row != std::end(kRows));
  return *row;
}

/// Number of exponents to try, from that of the range's scale (docs/arithmetic.md, section 3: e0 to e0 + 4).
constexpr int64_t kPowers = 5;

}  // namespace

std::vector<std::string> observer_names() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

std::string over_all(const std::string& observer) {
  constexpr std::string_view kMoving = "ema_";
  return observer.starts_with(kMoving) ? observer.substr(kMoving.size()) : observer;
}

bool gives_powers_of_two(const std::string& observer) { return observer.starts_with("power_"); }

bool starts_learning(const std::string& observer) { return observer.starts_with("lsq"); }

Attributes observer_attributes(const std::string& observer, const ObserverNumbers& numbers, bool of_weight) {
  const Row& row = row_of(observer);
  const bool powers = gives_powers_of_two(observer);
  return {{"method", std::string(row.method)},
          {"merge", std::string(of_weight ? "last" : row.merge)},
          {"candidates", powers ? kPowers : numbers.candidates},
          {"steps", numbers.steps},
          {"power", numbers.power},
          {"share", numbers.share},
          {"bins", numbers.bins},
          {"deviations", numbers.deviations},
          {"halves", std::string(powers && !of_weight ? "up" : "even")},
          {"nearest_power", numbers.nearest_power},
          {"statistics", static_cast<int64_t>(arith::statistics_of(*arith::parse_observing(row.method)))}};
}

std::string observer_name(const std::string& method, const std::string& merge) {
  const auto* row =
      std::ranges::find_if(kRows, [&](const Row& one) { return one.method == method && one.merge == merge; });
  return row == std::end(kRows) ? method : row->name;
}

}  // namespace halfstep::quant
