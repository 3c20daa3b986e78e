// Hypotheses about codes derived from the expected codes: shifted positions or bits, clamped, mirrored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

/// Content of a shifted image outside of the original.
enum class Fill { unsaid, wrapped, repeated, zero };

int64_t wrapped(int64_t index, int64_t extent) { return ((index % extent) + extent) % extent; }

/// expected[n, c - dc, h - dy, w - dx], with the fill outside of the image.
Numbers shifted(const Evidence& e, int64_t dc, int64_t dy, int64_t dx, Fill fill) {
  const ImageDims& d = e.dims;
  Numbers result(e.size());
  for (int64_t n = 0; n < d.n; ++n) {
    for (int64_t c = 0; c < d.c; ++c) {
      for (int64_t h = 0; h < d.h; ++h) {
        for (int64_t w = 0; w < d.w; ++w) {
          int64_t fc = c - dc, fh = h - dy, fw = w - dx;
          const bool inside = fc >= 0 && fc < d.c && fh >= 0 && fh < d.h && fw >= 0 && fw < d.w;
          double& to = result[static_cast<size_t>(e.at(n, c, h, w))];
          if (!inside && fill == Fill::unsaid) {
            to = kUnsaid;
            continue;
          }
          if (!inside && fill == Fill::zero) {
            to = e.zero_point();
            continue;
          }
          if (fill == Fill::wrapped) {
            fc = wrapped(fc, d.c);
            fh = wrapped(fh, d.h);
            fw = wrapped(fw, d.w);
          }
          to = e.expected[static_cast<size_t>(e.at(n, std::clamp<int64_t>(fc, 0, d.c - 1),
                                                   std::clamp<int64_t>(fh, 0, d.h - 1),
                                                   std::clamp<int64_t>(fw, 0, d.w - 1)))];
        }
      }
    }
  }
  return result;
}

constexpr Fill kFills[] = {Fill::wrapped, Fill::zero, Fill::repeated, Fill::unsaid};

std::string counted(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count > 1 ? "s" : "");
}

std::string direction(int64_t dy, int64_t dx) {
  std::string text;
  if (dy != 0) text = counted(std::abs(dy), "pixel") + (dy > 0 ? " down" : " up");
  if (dx != 0) text += (text.empty() ? "" : " and ") + counted(std::abs(dx), "pixel") + (dx > 0 ? " right" : " left");
  return text;
}

void pixels(const Evidence& e, Verdicts& verdicts) {
  if (e.dims.h * e.dims.w == 1) return;
  for (const int64_t far : {1, 2, 3}) {
    for (int64_t dy = -far; dy <= far; ++dy) {
      for (int64_t dx = -far; dx <= far; ++dx) {
        if (std::max(std::abs(dy), std::abs(dx)) != far || std::abs(dy) >= e.dims.h || std::abs(dx) >= e.dims.w)
          continue;
        for (const Fill fill : kFills) verdicts.predict("shifted by " + direction(dy, dx), shifted(e, 0, dy, dx, fill));
      }
    }
    if (verdicts.proved()) return;
  }
}

void channels(const Evidence& e, Verdicts& verdicts) {
  for (const int64_t by : {1, -1, 2, -2, 3, -3, 4, -4}) {
    if (std::abs(by) >= e.dims.c) continue;
    for (const Fill fill : kFills)
      verdicts.predict(fmt::format("shifted by {} {}", counted(std::abs(by), "channel"), by > 0 ? "up" : "down"),
                       shifted(e, by, 0, 0, fill));
  }
}

/// The file starts some elements late or early.
void elements(const Evidence& e, Verdicts& verdicts) {
  if (e.size() < 2) return;
  const ImageDims& d = e.dims;
  Layout inner = e.layout;
  inner.border = {};
  inner.packing = Packing::none;
  const Cells cells = Cells::of({1, d.c, d.h, d.w}, inner);
  std::vector<int64_t> cell_of(static_cast<size_t>(d.sample()));
  Numbers in_file(static_cast<size_t>(cells.total * d.n), 0);
  for (int64_t i = 0; i < d.sample(); ++i)
    cell_of[static_cast<size_t>(i)] = cells.at(i / (d.h * d.w), i / d.w % d.h, i % d.w);
  for (int64_t i = 0; i < static_cast<int64_t>(e.size()); ++i)
    in_file[static_cast<size_t>(i / d.sample() * cells.total + cell_of[static_cast<size_t>(i % d.sample())])] =
        e.expected[static_cast<size_t>(i)];
  const auto total = static_cast<int64_t>(in_file.size());
  constexpr int64_t kFarthest = 16;
  for (int64_t far = 1; far <= kFarthest; ++far) {
    for (const int64_t by : {far, -far}) {
      for (const bool wraps : {true, false}) {
        Numbers result(e.size());
        for (int64_t i = 0; i < static_cast<int64_t>(e.size()); ++i) {
          const int64_t from = i / d.sample() * cells.total + cell_of[static_cast<size_t>(i % d.sample())] - by;
          const bool inside = from >= 0 && from < total;
          result[static_cast<size_t>(i)] =
              inside || wraps ? in_file[static_cast<size_t>(wrapped(from, total))] : kUnsaid;
        }
        verdicts.predict(fmt::format("the file begins {} {}", counted(far, "element"), by > 0 ? "late" : "early"),
                         result);
      }
    }
    if (verdicts.proved()) return;
  }
}

template <class F>
Numbers mapped(const Evidence& e, F map) {
  Numbers result(e.size());
  std::transform(e.expected.begin(), e.expected.end(), result.begin(), map);
  return result;
}

/// Rearranges expected. `map` converts a position (c, h, w) to its source position.
template <class F>
Numbers placed(const Evidence& e, F map) {
  const ImageDims& d = e.dims;
  Numbers result(e.size());
  for (int64_t n = 0; n < d.n; ++n) {
    for (int64_t i = 0; i < d.sample(); ++i) {
      int64_t c = i / (d.h * d.w), h = i / d.w % d.h, w = i % d.w;
      map(c, h, w);
      result[static_cast<size_t>(n * d.sample() + i)] = e.expected[static_cast<size_t>(e.at(n, c, h, w))];
    }
  }
  return result;
}

void reversed(const Evidence& e, Verdicts& verdicts) {
  const ImageDims& d = e.dims;
  const auto last = d.c - 1;
  const bool colours = d.c == 3 || d.c == 4;
  if (d.c > 1)
    verdicts.predict(colours ? "colours are reversed: BGR for RGB" : "channels are in reverse order",
                     placed(e, [&](int64_t& c, int64_t&, int64_t&) { c = last - c; }));
  if (d.c == 4)
    verdicts.predict("colours are reversed: BGR for RGB",
                     placed(e, [&](int64_t& c, int64_t&, int64_t&) { c = c < 3 ? 2 - c : 3; }));
}

void mirrored(const Evidence& e, Verdicts& verdicts) {
  const ImageDims& d = e.dims;
  if (d.h * d.w == 1) return;
  verdicts.predict("mirrored: left is right", placed(e, [&](int64_t&, int64_t&, int64_t& w) { w = d.w - 1 - w; }));
  verdicts.predict("upside down", placed(e, [&](int64_t&, int64_t& h, int64_t&) { h = d.h - 1 - h; }));
  verdicts.predict("turned by half a turn", placed(e, [&](int64_t&, int64_t& h, int64_t& w) {
                     h = d.h - 1 - h;
                     w = d.w - 1 - w;
                   }));
}

/// The median difference. It is the common difference if most elements have one.
double common_difference(const Evidence& e) {
  std::vector<double> all(e.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = e.found[i] - e.expected[i];
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

void constant(const Evidence& e, Verdicts& verdicts) {
  const double by = common_difference(e);
  if (by == 0 || !std::isfinite(by) || (e.is_input() && by != -e.zero_point())) return;
  const double range = std::exp2(std::ceil(std::log2(e.highest() - e.lowest() + 1)));
  const bool zero = by == -e.zero_point();
  const std::string sentence = zero ? fmt::format("the zero point {} is left out", e.zero_point())
                                    : fmt::format("every code is {} too {}", std::abs(by), by > 0 ? "large" : "small");
  verdicts.predict(sentence, mapped(e, [&](double v) { return v + by; }));
  if (!e.entry.codes) return;
  verdicts.predict(sentence, mapped(e, [&](double v) { return std::clamp(v + by, e.lowest(), e.highest()); }));
  verdicts.predict(sentence, mapped(e, [&](double v) {
                     const double moved = v + by;
                     return moved < e.lowest() ? moved + range : moved > e.highest() ? moved - range : moved;
                   }));
}

void bits(const Evidence& e, Verdicts& verdicts) {
  if (!e.entry.codes) return;
  const double zero = e.zero_point(), range = std::exp2(e.entry.codes->bits());
  for (int k = 1; k <= 8; ++k) {
    for (const double base : {0.0, zero}) {
      const auto down = [&](double v) { return std::floor(std::ldexp(v - base, -k)) + base; };
      const auto up = [&](double v) { return std::ldexp(v - base, k) + base; };
      const std::string right = fmt::format("codes are shifted right by {}", counted(k, "bit")),
                        left = fmt::format("codes are shifted left by {}", counted(k, "bit"));
      verdicts.predict(right, mapped(e, down));
      verdicts.predict(left, mapped(e, [&](double v) { return std::clamp(up(v), e.lowest(), e.highest()); }));
      verdicts.predict(left,
                       mapped(e, [&](double v) { return up(v) - range * std::floor((up(v) - e.lowest()) / range); }));
    }
  }
}

void few_bits(const Evidence& e, Verdicts& verdicts) {
  if (!e.entry.codes) return;
  for (int k = e.entry.codes->bits() - 1; k >= 1; --k) {
    const double range = std::exp2(k);
    verdicts.predict(fmt::format("only the lower {} are present", counted(k, "bit")),
                     mapped(e, [&](double v) { return v - range * std::floor(v / range); }));
    verdicts.predict(fmt::format("the lower {} are 0", counted(k, "bit")),
                     mapped(e, [&](double v) { return range * std::floor(v / range); }));
  }
}

void one_value(const Evidence& e, Verdicts& verdicts) {
  const double first = e.found.front();
  if (std::ranges::any_of(e.found, [&](double v) { return v != first; })) return;
  verdicts.predict(fmt::format("all elements are {}: perhaps never written", first),
                   mapped(e, [&](double) { return first; }));
}

/// Whole blocks of channels: not written from one on, written twice, or in another order.
void blocks_of_channels(const Evidence& e, Verdicts& verdicts) {
  const int64_t pixels = e.dims.h * e.dims.w;
  int64_t first = e.dims.c;
  for (size_t i = 0; i < e.size(); ++i) {
    if (!same_number(e.expected[i], e.found[i])) first = std::min(first, static_cast<int64_t>(i) / pixels % e.dims.c);
  }
  for (const int64_t block : {32, 16, 8, 64, 4}) {
    if (e.dims.c <= block) continue;
    for (int64_t by = block; by < e.dims.c && e.dims.c % block == 0; by += block)
      verdicts.predict(fmt::format("blocks of {} channels are in another order", block),
                       placed(e, [&](int64_t& c, int64_t&, int64_t&) { c = wrapped(c - by, e.dims.c); }));
    const int64_t from = first / block * block;  // a channel of zeros can be correct by chance
    if (from == 0) continue;
    verdicts.predict(fmt::format("channels from {} on repeat the channels from 0 on", from),
                     placed(e, [&](int64_t& c, int64_t&, int64_t&) { c = c < from ? c : (c - from) % from; }));
    for (const double value : {0.0, e.zero_point()}) {
      Numbers result = e.expected;
      for (size_t i = 0; i < e.size(); ++i) {
        if (static_cast<int64_t>(i) / pixels % e.dims.c >= from) result[i] = value;
      }
      verdicts.predict(fmt::format("all elements are {} from channel {} on", value, from), result);
    }
  }
}

/// The codes belong to other samples.
void samples(const Evidence& e, Verdicts& verdicts) {
  const ImageDims& d = e.dims;
  if (d.n < 2) return;
  for (int64_t by = 1; by < d.n; ++by) {
    Numbers result(e.size());
    for (int64_t i = 0; i < static_cast<int64_t>(e.size()); ++i)
      result[static_cast<size_t>(i)] =
          e.expected[static_cast<size_t>(wrapped(i - by * d.sample(), static_cast<int64_t>(e.size())))];
    verdicts.predict("samples are in another order", result);
  }
}

void left_out(const Evidence& e, Verdicts& verdicts) {
  if (!e.rerun || e.rerun->operands.empty() || !e.rerun->operands.front().defined()) return;
  const Numbers input = numbers_of(e.rerun->operands.front());
  if (input.size() == e.size() && input != e.expected)
    verdicts.predict("the layer is left out: its codes are the codes of its input", input);
}

}  // namespace

const std::vector<Hypothesis>& moves() {
  static const std::vector<Hypothesis> kAll = {
      {"one_value", of_found<one_value>},    {"left_out", of_found<left_out>},
      {"bgr", of_found<reversed>},           {"pixel_shift", of_found<pixels>},
      {"channel_shift", of_found<channels>}, {"mirrored", of_found<mirrored>},
      {"zero_point", of_found<constant>},    {"from_channel", of_found<blocks_of_channels>},
      {"bit_shift", of_found<bits>},         {"few_bits", of_found<few_bits>},
      {"samples", of_found<samples>},        {"element_shift", of_found<elements>}};
  return kAll;
}

}  // namespace halfstep::board
