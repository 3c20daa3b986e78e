#include "halfstep/train/loop/recipe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/schedule.h"

namespace halfstep::train {
namespace {

/// Number of the first random stream, after those of augmentation.
constexpr uint64_t kFirstStream = uint64_t{1} << 40;

constexpr double kDrop = 0.1;

[[noreturn]] void refuse_schedule(std::string_view text) { fail(errors::schedule_unknown(quote(text))); }

/// Draws from the gamma distribution with this shape and scale 1 (Marsaglia and Tsang, 2000).
double gamma(Random& random, double shape) {
  const double grown = shape < 1 ? shape + 1 : shape;
  const double d = grown - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = double{random.normal()}, v = std::pow(1 + c * x, 3);
    const double u = 1 - double{random.uniform()};
    if (v <= 0 || std::log(u) >= 0.5 * x * x + d - d * v + d * std::log(v)) continue;
    return shape < 1 ? d * v * std::pow(1 - double{random.uniform()}, 1 / shape) : d * v;
  }
}

}  // namespace

RateSchedule parse_rate_schedule(std::string_view text) {
  if (text == "cosine") return {};
  if (text == "steps") return {{0.5, 0.75}};
  constexpr std::string_view kSteps = "steps:";
  if (!text.starts_with(kSteps)) refuse_schedule(text);
  RateSchedule schedule;
  for (std::string_view rest = text.substr(kSteps.size());;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    double share = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + comma, share);
    const double before = schedule.drops.empty() ? 0 : schedule.drops.back();
    if (error != std::errc() || end != rest.data() + comma || !(share > before && share < 1)) refuse_schedule(text);
    schedule.drops.push_back(share);
    if (comma == rest.size()) return schedule;
    rest.remove_prefix(comma + 1);
  }
}

std::string to_text(const RateSchedule& schedule) {
  return schedule.drops.empty() ? "cosine" : fmt::format("steps:{}", fmt::join(schedule.drops, ","));
}

void Recipe::check() const {
  std::vector<Diagnostic> objections;
  add_out_of_range(*this, objections);
  fail_on_any(std::move(objections));
}

// Checkpoints of earlier versions have this text, and resume only with the same one.
std::string Recipe::text() const {
  return fmt::format(
      "{}, smoothing {}, mixup {}, scales {}, frozen above {}, features {}, renormalized by {}, "
      "teachers count {}",
      to_text(schedule), label_smoothing, mixup, scale_rate, freeze_oscillating, fmt::join(distill_activations, " "),
      renormalize, teacher_weight);
}

double rate_at(const RateSchedule& schedule, double peak, int64_t step, int64_t steps, int64_t warmup) {
  if (schedule.drops.empty()) return cosine_rate(peak, step, steps, warmup);
  double rate = step < warmup ? peak * static_cast<double>(step + 1) / static_cast<double>(warmup) : peak;
  for (const double share : schedule.drops) {
    if (static_cast<double>(step) >= share * static_cast<double>(steps)) rate *= kDrop;
  }
  return rate;
}

Tensor soft_targets(const Tensor& labels, int64_t classes, double smoothing) {
  Tensor targets(DType::f32, {labels.size(), classes});
  const auto to = targets.data<float>();
  std::ranges::fill(to, static_cast<float>(smoothing / static_cast<double>(classes)));
  int64_t row = 0;
  for (const int32_t label : labels.data<int32_t>()) {
    if (label < 0 || label >= classes) fail(errors::label_out_of_classes(label, row, classes - 1));
    to[static_cast<size_t>(row++ * classes + label)] += static_cast<float>(1 - smoothing);
  }
  return targets;
}

Mixture mixture_of(double parameter, int64_t count, uint64_t seed, uint64_t step) {
  Random random(seed, kFirstStream + step);
  const double a = gamma(random, parameter), b = gamma(random, parameter);
  return {static_cast<float>(a + b > 0 ? std::min(a, b) / (a + b) : 0), random.permutation(count)};
}

Tensor mixed(const Tensor& x, const Mixture& mixture) {
  Tensor result = x.clone();
  const auto count = static_cast<int64_t>(mixture.partner.size());
  const int64_t each = count == 0 ? 0 : x.size() / count;
  const auto from = x.data<float>();
  const auto to = result.data<float>();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t partner = mixture.partner[static_cast<size_t>(i)];
    for (int64_t k = 0; k < each; ++k) {
      const float own = from[static_cast<size_t>(i * each + k)];
      to[static_cast<size_t>(i * each + k)] =
          own + mixture.share * (from[static_cast<size_t>(partner * each + k)] - own);
    }
  }
  return result;
}

}  // namespace halfstep::train
