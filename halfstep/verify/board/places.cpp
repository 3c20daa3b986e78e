// Hypotheses that use the positions and sizes of differences, if no hypothesis reproduces the codes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

bool differs(const Evidence& e, size_t i) { return e.expected[i] != e.found[i]; }

int64_t channel_of(const Evidence& e, size_t i) { return static_cast<int64_t>(i) / (e.dims.h * e.dims.w) % e.dims.c; }

/// Codes in a smaller range. Saturated accumulators have the same effect, and are tried first.
void clamped(const Evidence& e, Verdicts& verdicts) {
  const auto [low, high] = std::ranges::minmax(e.found);
  if (low == high || !std::isfinite(low) || !std::isfinite(high)) return;
  Numbers at_ends = e.expected, above_zero = e.expected;
  for (double& v : at_ends) v = std::clamp(v, low, high);
  for (double& v : above_zero) v = std::max(v, e.zero_point());
  verdicts.predict(fmt::format("clamped to {}..{}", low, high), at_ends);
  if (e.zero_point() > e.lowest())
    verdicts.predict("an extra activation function: no code is below the zero point", above_zero);
}

/// Differences start at a multiple of a block of channels.
void from_channel(const Evidence& e, Verdicts& verdicts) {
  std::vector<int64_t> counts(static_cast<size_t>(e.dims.c));
  for (size_t i = 0; i < e.size(); ++i) counts[static_cast<size_t>(channel_of(e, i))] += differs(e, i) ? 1 : 0;
  const auto first = std::ranges::find_if(counts, [](int64_t count) { return count > 0; }) - counts.begin();
  const auto last =
      std::find_if(counts.rbegin(), counts.rend(), [](int64_t count) { return count > 0; }).base() - counts.begin();
  if (first == 0 || last - first < 2) return;
  const bool to_the_end = last >= e.dims.c - 1;
  for (const int64_t block : {32, 16, 8, 4}) {
    if (first % block != 0) continue;
    const auto wrong =
        std::count_if(counts.begin() + first, counts.begin() + last, [](int64_t count) { return count > 0; });
    if (2 * wrong < last - first) return;
    return verdicts.place(
        to_the_end
            ? fmt::format("wrong from channel {} on (blocks of {}), and right before", first, block)
            : fmt::format("wrong in channels {} to {} (blocks of {}), and right elsewhere", first, last - 1, block),
        0, static_cast<int64_t>(e.size()));
  }
}

void at_border(const Evidence& e, Verdicts& verdicts) {
  const ImageDims& d = e.dims;
  if (d.h < 3 || d.w < 3) return;
  for (int64_t width = 1; width <= 3 && 2 * width < std::min(d.h, d.w); ++width) {
    int64_t inside = 0, sides[4] = {};
    for (size_t i = 0; i < e.size(); ++i) {
      if (!differs(e, i)) continue;
      const int64_t h = static_cast<int64_t>(i) / d.w % d.h, w = static_cast<int64_t>(i) % d.w;
      const bool at[4] = {h < width, h >= d.h - width, w < width, w >= d.w - width};
      inside += at[0] || at[1] || at[2] || at[3] ? 0 : 1;
      for (size_t side = 0; side < 4; ++side) sides[side] += at[side] ? 1 : 0;
    }
    if (inside > 0) continue;
    static constexpr const char* kNames[] = {"above", "below", "left", "right"};
    std::string text;
    for (size_t side = 0; side < 4; ++side) {
      if (sides[side] > 0) text += (text.empty() ? "" : ", ") + fmt::format("{} {}", sides[side], kNames[side]);
    }
    return verdicts.place(fmt::format("only the outer {} pixels differ ({}): look at the padding", width, text), 0,
                          static_cast<int64_t>(e.size()));
  }
}

/// Differences of one code, only where the sum is close to a tie.
void ties(const Evidence& e, Verdicts& verdicts) {
  if (!e.entry.codes) return;
  constexpr double kNear = 1.0 / 64;
  int64_t elsewhere = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    if (!differs(e, i)) continue;
    if (std::abs(e.expected[i] - e.found[i]) != 1) return;
    if (!e.sums) continue;
    const double steps = e.sums->steps(i), off = std::abs(steps - std::floor(steps) - 0.5);
    elsewhere += off > kNear ? 1 : 0;
  }
  verdicts.place(e.sums ? "differences of one code, only at ties" : "differences of one code: another rounding",
                 elsewhere, static_cast<int64_t>(e.size()));
}

void one_code(const Evidence& e, Verdicts& verdicts) {
  if (!e.entry.codes || !e.sums) return;
  for (size_t i = 0; i < e.size(); ++i) {
    if (std::abs(e.expected[i] - e.found[i]) > 1) return;
  }
  verdicts.place("differences of one code, not only at ties: another rounding or multiplier", 0,
                 static_cast<int64_t>(e.size()));
}

}  // namespace

const std::vector<Hypothesis>& places() {
  static const std::vector<Hypothesis> kAll = {{"clamped", of_found<clamped>},
                                               {"ties", of_found<ties>},
                                               {"from_channel", of_found<from_channel>},
                                               {"border", of_found<at_border>},
                                               {"one_code", of_found<one_code>}};
  return kAll;
}

}  // namespace halfstep::board
