#include "halfstep/fuzz/quality.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/sqnr.h"
#include "halfstep/fuzz/checks.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::fuzz {
namespace {

/// Number of draws if a program has a large error. An error of one element among many shows in few draws.
constexpr uint64_t kDrawsOfFar = 32;

/// Minimum expected SQNR in dB. Below it, noise does not add up like that of independent steps.
constexpr double kLeastExpected = 12;
/// Draws that differ by more dB indicate a step function, a pole or a choice, whose noise is random.
constexpr double kDrawsAgree = 6;
/// Smaller signals are numerical noise.
constexpr double kLeastMagnitude = 1e-5;

/// Allowed difference from the expectation in dB. No network of tests/networks exceeds it. It is larger for few
/// elements, whose errors may all be alike.
double margin_of(int64_t elements) { return elements >= 64 ? 10 : 14; }

/// A channel is crushed if its SQNR is below kCrushed dB, and steps of its own would leave more than kLeft dB.
constexpr double kCrushed = 3, kLeft = 20;

/// Sums over the elements of one output, or of one of its channels.
struct Sums {
  explicit Sums(size_t draws) : drawn(draws) {}

  double signal = 0, noise = 0, apart = 0;
  std::vector<double> drawn;
  double low = 0, high = 0, first = 0;
  int64_t count = 0;
  bool is_constant = true;
  bool is_finite = true;

  void add(double wanted, double found) {
    is_finite = is_finite && std::isfinite(wanted) && std::isfinite(found);
    signal += wanted * wanted;
    noise += (wanted - found) * (wanted - found);
    low = std::min(low, wanted), high = std::max(high, wanted);
    if (count++ == 0) first = wanted;
    is_constant = is_constant && wanted == first;
  }

  /// The squared error of rounding only the output.
  double least(const Grid& grid) const {
    const double step = (high - low) / (std::exp2(grid.activation_bits) - 1);
    return static_cast<double>(count) * step * step / 12;
  }
  double expected(const Grid& grid) const { return std::max(std::ranges::max(drawn), least(grid)); }
  /// The expectation in dB, at most 6.02 dB per bit, the maximum for signals that spread over their range.
  double expected_db(const Grid& grid) const {
    constexpr double kEachBit = 6.02;
    return std::min(decibels(signal, expected(grid)), kEachBit * grid.activation_bits);
  }

  /// Whether the draws have similar noise.
  bool agrees(const Grid& grid) const {
    const auto [least_drawn, most] = std::ranges::minmax(std::span(drawn).first(kDraws));
    return decibels(most, std::max(least_drawn, least(grid))) <= kDrawsAgree;
  }

  /// The reason why it cannot be judged, or "".
  std::string why_not(const Grid& grid) const {
    const bool drawn_finite = std::ranges::all_of(drawn, [](double one) { return std::isfinite(one); });
    if (!is_finite || !drawn_finite) return "an output is not finite";
    if (std::max(high, -low) < kLeastMagnitude) return "an output is nearly 0";
    if (decibels(signal, expected(grid)) < kLeastExpected) return "the bit widths allow too much noise";
    return agrees(grid) ? "" : "draws of noise differ";
  }
};

/// Number of channels: the extent of the second axis, or 1 without one.
int64_t channels_of(const Tensor& tensor) { return tensor.dims().size() < 2 ? 1 : tensor.dims()[1]; }

class Summing {
 public:
  Summing(const Answered& answered, const std::string& output)
      : whole(answered.rounded.size()), answered_(answered), output_(output) {
    const Tensor& first = answered.floats.front().at(output);
    channels.resize(static_cast<size_t>(std::max<int64_t>(channels_of(first), 1)), whole);
    for (size_t batch = 0; batch < answered.floats.size(); ++batch) add(batch);
  }

  Sums whole;
  std::vector<Sums> channels;

 private:
  void add(size_t batch) {
    const Tensor& wanted = answered_.floats[batch].at(output_);
    const Tensor& found = answered_.integer[batch].at(output_);
    const auto count = static_cast<int64_t>(channels.size());
    int64_t inner = 1;
    for (size_t i = 2; i < wanted.dims().size(); ++i) inner *= wanted.dims()[i];
    for (int64_t i = 0; i < wanted.size(); ++i) {
      const double real = element(wanted, i);
      for (Sums* sums : {&whole, &channels[static_cast<size_t>(i / inner % count)]}) {
        sums->add(real, element(found, i));
        for (size_t draw = 0; draw < sums->drawn.size(); ++draw)
          sums->drawn[draw] += square(real - element(answered_.rounded[draw][batch].at(output_), i));
        sums->apart += square(real - element(answered_.apart[batch].at(output_), i));
      }
    }
  }
  static double square(double x) { return x * x; }

  const Answered& answered_;
  const std::string& output_;
};

/// Names of the float outputs that have elements.
std::vector<std::string> judged_outputs(const Answered& answered) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : answered.floats.front()) {
    const Tensor& found = answered.integer.front().at(name);
    if (tensor.dtype() == DType::f32 && tensor.size() > 0 && found.type() == tensor.type()) names.push_back(name);
  }
  return names;
}

}  // namespace

Grid grid_of(const Model& prepared) {
  const quant::Platform& platform = quant::platform_of(prepared);
  Grid grid;
  grid.per_channel = platform.per_channel;
  grid.power_of_two = platform.power_of_two;
  grid.coarseness = platform.shift_rounding == "truncate" || platform.rounding == "truncate" ? 2 : 1;
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    int& bits = quant::is_weight(quantizer) ? grid.weight_bits : grid.activation_bits;
    bits = std::min(bits, quant::bits_of(quantizer));
  }
  return grid;
}

Answered answer(Trial& trial, uint64_t draws) {
  const Network& network = trial.network();
  const Model& integer = trial.integer();
  const Model floats = train::evaluation_form(trial.source());
  Answered answered;
  answered.grid = grid_of(trial.prepared());
  RoundedRun run(floats);
  train::BatchRunner runner(train::evaluation_form(integer), {}, trial.tools().pool);
  const int64_t batch = data::batch_of(floats, network.samples);
  std::vector<Tensors> inputs;
  for (int64_t begin = 0; begin + batch <= network.samples; begin += batch) {
    Tensors fed;
    const Tensors all = network.batch_at(begin, batch);
    for (const Value argument : floats.graph.arguments()) fed.emplace(argument.name(), all.at(argument.name()));
    answered.floats.push_back(run.exact(fed));
    answered.integer.push_back(runner.run(fed));
    inputs.push_back(std::move(fed));
  }
  answered.rounded.resize(draws);
  Grid apart = answered.grid;
  apart.joins = false;
  for (const Tensors& fed : inputs) {
    for (uint64_t draw = 0; draw < draws; ++draw)
      answered.rounded[draw].push_back(run.rounded(fed, answered.grid, draw));
    answered.apart.push_back(run.rounded(fed, apart, 0));
  }
  return answered;
}

Quality worst_quality(const Answered& answered) {
  std::optional<Quality> worst;
  std::string reason = "no output of floats";
  for (const std::string& name : judged_outputs(answered)) {
    const Sums sums = Summing(answered, name).whole;
    if (std::string why = sums.why_not(answered.grid); !why.empty()) {
      reason = std::move(why);
      continue;
    }
    const Quality quality{fmt::format("output '{}'", name), decibels(sums.signal, sums.noise),
                          sums.expected_db(answered.grid), sums.count};
    if (!worst || quality.excess() > worst->excess()) worst = quality;
  }
  if (!worst) throw Skipped{reason};
  return *worst;
}

std::optional<Quality> crushed_part(const Answered& answered) {
  for (const std::string& name : judged_outputs(answered)) {
    const Summing summing(answered, name);
    for (size_t c = 0; c < summing.channels.size(); ++c) {
      const Sums& sums = summing.channels[c];
      if (!sums.is_finite || !std::isfinite(sums.apart) || std::max(sums.high, -sums.low) < kLeastMagnitude) continue;
      if (sums.is_constant || !sums.agrees(answered.grid))
        continue;  // a constant channel carries no information, and
                   // unequal draws are random
      const double left = decibels(sums.signal, sums.noise);
      const double own = decibels(sums.signal, std::max(sums.apart, sums.least(answered.grid)));
      if (left < kCrushed && own > kLeft)
        return Quality{fmt::format("channel {} of output '{}'", c, name), left, own, sums.count};
    }
  }
  return std::nullopt;
}

namespace {

double distance(const Tensor& a, const Tensor& b) {
  Likeness likeness;
  likeness.add(a.data<float>(), b.data<float>());
  return likeness.noise;
}

double largest_error(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(element(a, i) - element(b, i)));
  return largest;
}

/// Rows of one output, from all samples.
struct Rows {
  std::vector<Tensor> floats, integer;
  std::vector<double> noise;  ///< expected noise of each row: the mean over all rows, or the noise of the draws in this
                              ///< row, if larger
  std::vector<double> worst;  ///< largest error of any element of the row in any draw

  size_t size() const { return floats.size(); }
};

Rows rows_of(const Answered& answered, const std::string& output, double expected) {
  Rows rows;
  for (size_t batch = 0; batch < answered.floats.size(); ++batch) {
    const Tensor& wanted = answered.floats[batch].at(output);
    for (int64_t i = 0; i < wanted.dims()[0]; ++i) {
      rows.floats.push_back(wanted.rows(i, i + 1));
      rows.integer.push_back(answered.integer[batch].at(output).rows(i, i + 1));
      double drawn = 0, worst = 0;
      for (const auto& draw : answered.rounded) {
        const Tensor row = draw[batch].at(output).rows(i, i + 1);
        drawn = std::max(drawn, distance(row, rows.floats.back()));
        worst = std::max(worst, largest_error(row, rows.floats.back()));
      }
      rows.noise.push_back(drawn);
      rows.worst.push_back(worst);
    }
  }
  for (double& noise : rows.noise) noise = std::max(noise, expected / static_cast<double>(rows.size()));
  return rows;
}

/// The sample whose float output is much closer to this output than its own. nullopt if there is none.
std::optional<size_t> owner(const Rows& rows, size_t sample) {
  constexpr double kFarther = 16, kNoise = 64;
  const double own = distance(rows.integer[sample], rows.floats[sample]);
  if (own < kNoise * rows.noise[sample]) return std::nullopt;
  for (size_t other = 0; other < rows.size(); ++other) {
    if (kFarther * distance(rows.integer[sample], rows.floats[other]) < own) return other;
  }
  return std::nullopt;
}

size_t largest(const Tensor& row) {
  const auto data = row.data<float>();
  return static_cast<size_t>(std::ranges::max_element(data) - data.begin());
}

/// The largest output of the integer program. If ranges clip a few numbers, these have this value.
float ceiling_of(const Rows& rows) {
  float most = -std::numeric_limits<float>::infinity();
  for (const Tensor& row : rows.integer) most = std::max(most, std::ranges::max(row.data<float>()));
  return most;
}

/// Whether another element is the largest, although the float network's maximum exceeds it by far more than the noise
/// and is not clipped.
bool is_redecided(const Rows& rows, size_t sample, float ceiling) {
  constexpr double kStandsOut = 16, kFromWorst = 4;
  const auto data = rows.floats[sample].data<float>();
  const size_t best = largest(rows.floats[sample]), found = largest(rows.integer[sample]);
  const double apart = double{data[best]} - double{data[found]};
  const double below = double{ceiling} - double{rows.integer[sample].data<float>()[best]};
  const double usual = std::sqrt(rows.noise[sample] / static_cast<double>(data.size()));
  return std::min(apart, below) > std::max(kStandsOut * usual, kFromWorst * rows.worst[sample]);
}

}  // namespace

std::string moved_answers(const Answered& answered) {
  for (const std::string& name : judged_outputs(answered)) {
    const Sums sums = Summing(answered, name).whole;
    if (!sums.why_not(answered.grid).empty() || answered.floats.front().at(name).dims().empty()) continue;
    const Rows rows = rows_of(answered, name, sums.expected(answered.grid));
    const float ceiling = ceiling_of(rows);
    size_t taken = 0, redecided = 0, first = 0, whose = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (const auto other = owner(rows, i)) {
        if (taken++ == 0) first = i, whose = *other;
      }
      redecided += is_redecided(rows, i, ceiling) ? 1 : 0;
    }
    if (taken > 0)
      return fmt::format("output '{}': {} of {} samples have another sample's answer, sample {} that of {}", name,
                         taken, rows.size(), first, whose);
    if (redecided > 0)
      return fmt::format("output '{}': another element is the largest in {} of {} samples", name, redecided,
                         rows.size());
  }
  return "";
}

namespace {

bool is_named_as_crushed(Trial& trial) {
  return trial.tools().warns_of_crushed(trial.prepared(), trial.samples(), trial.tools().pool);
}

/// For all-zero weights, the search of MQBench's vitis sets scale 1. The bias then has large steps.
bool has_weights_of_zeros(const Model& prepared) {
  return std::ranges::any_of(prepared.graph.all<ops::FakeQuantize>(), [&](const ops::FakeQuantize& quantizer) {
    if (!quant::is_weight(quantizer) || !quant::observer_of(quantizer).method().starts_with("power")) return false;
    const auto numbers = std::as_const(prepared.tensors.at(quantizer.x().name())).data<float>();
    return std::ranges::all_of(numbers, [](float number) { return number == 0; });
  });
}

/// Reports a finding, unless a crushed part explains it: values computed from such a part are lost too.
[[noreturn]] void say(Trial& trial, std::string finding) {
  if (is_named_as_crushed(trial)) throw Skipped{"quantize warns of a crushed part"};
  if (has_weights_of_zeros(trial.prepared())) throw Skipped{"zero weights give the bias large steps"};
  throw Found{std::move(finding)};
}

}  // namespace

void check_quality(Trial& trial) {
  if (!trial.network().rows)
    throw Skipped{"samples of a batch are not apart"};  // calibration has them in another order
  Quality worst = worst_quality(trial.answered());
  if (worst.excess() > margin_of(worst.elements)) worst = worst_quality(answer(trial, kDrawsOfFar));
  constexpr double kExact = 200;  // upper bound for outputs without noise
  trial.measure({std::min(worst.sqnr, kExact), std::max(worst.excess(), -kExact)});
  if (worst.excess() > margin_of(worst.elements))
    say(trial, fmt::format("{}: {:.1f} dB to the float network, its bit widths allow {:.1f} dB", worst.what, worst.sqnr,
                           worst.expected));
}

void check_answers(Trial& trial) {
  if (!trial.network().rows) throw Skipped{"samples of a batch are not apart"};
  const std::string moved = moved_answers(trial.answered());
  if (!moved.empty()) say(trial, moved);
}

void check_parts(Trial& trial) {
  const auto part = crushed_part(trial.answered());
  const bool is_named = is_named_as_crushed(trial);  // runs even without such a part, to check that the search succeeds
  if (!part || is_named) return;
  if (!trial.network().rows) throw Skipped{"calibration may see other samples too"};
  throw Found{fmt::format("{}: {:.1f} dB to the float network, with its own steps {:.1f} dB, and no warning",
                          part->what, part->sqnr, part->expected)};
}

}  // namespace halfstep::fuzz
