// Hypotheses about the computation of a layer. Each changes one property and runs the layer again.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "halfstep/core/arith/rounding.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

/// Changes a copy of the layer. Returns false if there is nothing to change.
using Edit = std::function<bool(Rerun&)>;

/// The result of the layer after the edit. Nothing if the edit does not apply, or if the record's rules refuse it.
std::optional<Numbers> after(const Evidence& e, const Edit& edit) {
  if (!e.rerun || !e.has_found()) return std::nullopt;
  Rerun changed = *e.rerun;
  if (!edit(changed)) return std::nullopt;
  try {
    const Tensor result = changed.run(*e.pool);
    if (result.size() != static_cast<int64_t>(e.size())) return std::nullopt;
    return numbers_of(result);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void consider(const Evidence& e, Verdicts& verdicts, const std::string& sentence, const Edit& edit) {
  if (const auto result = after(e, edit)) verdicts.predict(sentence, *result);
}

/// Channels with differences.
std::set<int64_t> differing_channels(const Evidence& e) {
  std::set<int64_t> channels;
  for (size_t i = 0; i < e.size(); ++i) {
    if (e.expected[i] != e.found[i]) channels.insert(static_cast<int64_t>(i) / (e.dims.h * e.dims.w) % e.dims.c);
  }
  return channels;
}

std::string named(const std::set<int64_t>& channels) {
  if (channels.size() == 1) return fmt::format("channel {}", *channels.begin());
  return fmt::format("{} channels from {} on", channels.size(), *channels.begin());
}

/// Sets attributes to integers, if the operator has all of them.
Edit with_numbers(std::vector<std::pair<std::string, int64_t>> numbers) {
  return [numbers = std::move(numbers)](Rerun& layer) {
    for (const auto& [name, value] : numbers) {
      if (!layer.has(name)) return false;
      layer.attributes[name] = value;
    }
    return true;
  };
}

Edit with_text(const std::string& name, const std::string& text) {
  return [=](Rerun& layer) {
    if (!layer.has(name)) return false;
    layer.attributes[name] = text;
    return true;
  };
}

/// Changes a copy of an operand, for example the codes of "x".
Edit with_operand(const std::string& port, std::function<bool(const Rerun&, Tensor&)> change) {
  return [port, change = std::move(change)](Rerun& layer) {
    Tensor* operand = layer.operand(port);
    if (operand == nullptr || !operand->defined()) return false;
    Tensor changed = operand->clone();
    if (!change(layer, changed)) return false;
    *operand = changed;
    return true;
  };
}

void each_channel(Tensor& tensor, const std::set<int64_t>& channels, const std::function<double(int64_t)>& value) {
  for (const int64_t c : channels) {
    if (c < tensor.size()) set_element(tensor, c, value(c));
  }
}

void rounding(const Evidence& e, Verdicts& verdicts) {
  static const std::map<std::string, std::string> kWords = {{"half_up", "halves up"},
                                                            {"half_even", "halves to the even code"},
                                                            {"half_away", "halves away from 0"},
                                                            {"truncate", "cut off"},
                                                            {"doubled", "rounded twice"}};
  for (const auto& [mode, words] : kWords) {
    for (const char* attribute : {"shift_rounding", "rounding"}) {
      if (e.rerun && e.rerun->has(attribute) && get<std::string>(e.rerun->attributes, attribute) == mode) continue;
      consider(e, verdicts, "another rounding: " + words, with_text(attribute, mode));
    }
  }
  for (const char* method : {"divide", "reciprocal"})
    consider(e, verdicts, fmt::format("another rounding: by {}", method), with_text("method", method));
}

/// Other roundings to integers. Covers forms that scale sums in float, and roundings that shifts do not support.
void rounding_of_steps(const Evidence& e, Verdicts& verdicts) {
  if (!e.sums || !e.has_found()) return;
  const double zero = static_cast<double>(e.rerun->whole("y_zero_point")),
               low = static_cast<double>(e.rerun->whole("code_min")),
               high = static_cast<double>(e.rerun->whole("code_max"));
  const auto all = [&](const std::string& words, auto round) {
    Numbers result(e.size());
    for (size_t i = 0; i < result.size(); ++i) result[i] = std::clamp(round(e.sums->steps(i)) + zero, low, high);
    verdicts.predict("another rounding: " + words, result);
  };
  using arith::Rounding;
  all("cut off towards 0", [](double v) { return std::trunc(v); });
  all("cut off", [](double v) { return std::floor(v); });
  all("always up", [](double v) { return std::ceil(v); });
  all("halves up", [](double v) { return arith::round_to(v, Rounding::half_up); });
  all("halves to the even code", [](double v) { return arith::round_to(v, Rounding::half_even); });
  all("halves away from 0", [](double v) { return arith::round_to(v, Rounding::half_away); });
  all("halves down", [](double v) { return -arith::round_to(-v, Rounding::half_up); });
}

void bias(const Evidence& e, Verdicts& verdicts) {
  if (!e.has_found()) return;
  const auto channels = differing_channels(e);
  const auto zero = [](const std::set<int64_t>& which) {
    return with_operand("b", [which](const Rerun&, Tensor& b) {
      each_channel(b, which, [](int64_t) { return 0.0; });
      return true;
    });
  };
  std::set<int64_t> all;
  for (int64_t c = 0; c < e.dims.c; ++c) all.insert(c);
  consider(e, verdicts, "the bias is left out", zero(all));
  consider(e, verdicts, fmt::format("the bias of {} is left out", named(channels)), zero(channels));
  consider(e, verdicts, fmt::format("the bias of {} is added twice", named(channels)),
           with_operand("b", [&](const Rerun&, Tensor& b) {
             const Tensor old = b.clone();
             each_channel(b, channels, [&](int64_t c) { return 2 * element(old, c); });
             return true;
           }));
  for (const int64_t by : {1, -1}) {
    consider(e, verdicts, "biases are shifted by one channel", with_operand("b", [&](const Rerun&, Tensor& b) {
               const Tensor old = b.clone();
               each_channel(b, all, [&](int64_t c) { return element(old, (c + by + b.size()) % b.size()); });
               return true;
             }));
  }
}

/// Some channels have the factors of another channel, or none.
void channel_scale(const Evidence& e, Verdicts& verdicts) {
  if (!e.rerun || !e.has_found()) return;
  const auto channels = differing_channels(e);
  std::set<int64_t> all;
  for (int64_t c = 0; c < e.dims.c; ++c) all.insert(c);
  const auto factors = [](const std::set<int64_t>& which, const std::function<int64_t(int64_t)>& of) {
    return [=](Rerun& layer) {
      bool changed = false;
      for (const char* port : {"multiplier", "shift", "negative_multiplier", "negative_shift", "w_scale"}) {
        Tensor* tensor = layer.operand(port);
        if (tensor == nullptr || !tensor->defined() || tensor->size() < 2) continue;
        const Tensor old = tensor->clone();
        *tensor = tensor->clone();
        each_channel(*tensor, which, [&](int64_t c) { return element(old, of(c)); });
        changed = true;
      }
      return changed;
    };
  };
  const int64_t count = e.dims.c;
  consider(e, verdicts, "one scale for all channels: the first one's", factors(all, [](int64_t) { return 0; }));
  for (int64_t other = 0; other < std::min<int64_t>(count, 64); ++other) {
    const auto text = fmt::format("the scale of {} is that of channel {}", named(channels), other);
    consider(e, verdicts, text, factors(channels, [other](int64_t) { return other; }));
    if (verdicts.proved()) return;
  }
  for (const int64_t by : {1, -1})
    consider(e, verdicts, "scales are shifted by one channel",
             factors(all, [=](int64_t c) { return (c + by + count) % count; }));
  for (const char* port : {"multiplier", "w_scale"}) {
    for (const double value : {1073741824.0, 2147483647.0, 1.0, 16384.0, 32767.0}) {
      consider(e, verdicts, fmt::format("the scale of {} is left out", named(channels)),
               with_operand(port, [&](const Rerun&, Tensor& tensor) {
                 if (tensor.dtype() != DType::f32 && value == 1.0) return false;
                 if (tensor.size() == 1) return false;
                 each_channel(tensor, channels, [&](int64_t) { return value; });
                 return true;
               }));
    }
  }
}

/// Any other factor: the best fit for each channel that differs.
void any_scale(const Evidence& e, Verdicts& verdicts) {
  if (!e.sums || !e.has_found() || verdicts.proved()) return;
  const auto channels = differing_channels(e);
  const double low = static_cast<double>(e.rerun->whole("code_min")),
               high = static_cast<double>(e.rerun->whole("code_max")),
               zero = static_cast<double>(e.rerun->whole("y_zero_point"));
  Numbers result = e.expected;
  std::set<double> ratios;
  for (const int64_t c : channels) {
    double product = 0, square = 0;
    for (size_t i = 0; i < e.size(); ++i) {
      if (static_cast<int64_t>(e.sums->channel(i)) != c || e.found[i] <= low || e.found[i] >= high) continue;
      const double steps = e.sums->steps(i);
      product += steps * (e.found[i] - zero);
      square += steps * steps;
    }
    if (square == 0) return;
    const double ratio = product / square;
    ratios.insert(ratio);
    for (size_t i = 0; i < e.size(); ++i) {
      if (static_cast<int64_t>(e.sums->channel(i)) != c) continue;
      const double code = std::clamp(e.sums->steps(i) * ratio + zero, low, high);
      result[i] = std::nearbyint(code);
    }
  }
  if (ratios.empty() || std::abs(*ratios.begin() - 1) < 0.01) return;
  verdicts.predict_nearly(fmt::format("{} {} scaled {:.6g} times as much", named(channels),
                                      channels.size() == 1 ? "is" : "are", *ratios.begin()),
                          result);
}

void shift(const Evidence& e, Verdicts& verdicts) {
  for (const int64_t by : {1, -1, 2, -2, 3, -3, 4, -4, 8, -8}) {
    const std::string text = fmt::format("results are shifted by {} bit{} too {}", std::abs(by),
                                         std::abs(by) > 1 ? "s" : "", by > 0 ? "many" : "few");
    consider(e, verdicts, text, [by](Rerun& layer) {
      bool changed = false;
      for (const char* port : {"shift", "negative_shift"}) {
        Tensor* tensor = layer.operand(port);
        if (tensor == nullptr || !tensor->defined()) continue;
        *tensor = tensor->clone();
        for (int64_t c = 0; c < tensor->size(); ++c)
          set_element(*tensor, c, element(*tensor, c) + static_cast<double>(by));
        changed = true;
      }
      if (layer.has("shift")) {
        layer.attributes["shift"] = layer.whole("shift") + by;
        changed = true;
      }
      return changed;
    });
    if (!e.sums || !e.has_found()) continue;
    Numbers result(e.size());  // for forms that keep scales, and for shifts that operators do not support
    const double zero = static_cast<double>(e.rerun->whole("y_zero_point")),
                 low = static_cast<double>(e.rerun->whole("code_min")),
                 high = static_cast<double>(e.rerun->whole("code_max"));
    for (size_t i = 0; i < result.size(); ++i)
      result[i] = std::clamp(std::nearbyint(std::ldexp(e.sums->steps(i), static_cast<int>(-by))) + zero, low, high);
    verdicts.predict(text, result);
  }
}

/// Omits the activation function, which is part of the range of the codes.
void activation(const Evidence& e, Verdicts& verdicts) {
  if (!e.rerun || !e.rerun->has("code_max") || !e.entry.codes) return;
  const auto low = static_cast<int64_t>(e.lowest()), high = static_cast<int64_t>(e.highest());
  const bool below = e.rerun->whole("code_min") > low, above = e.rerun->whole("code_max") < high;
  if (below || above)
    consider(e, verdicts, "the activation is left out", with_numbers({{"code_min", low}, {"code_max", high}}));
  if (!below || !above) return;
  consider(e, verdicts, "the activation is left out below", with_numbers({{"code_min", low}}));
  consider(e, verdicts, "the activation is left out above", with_numbers({{"code_max", high}}));
}

/// Omits the clamp: codes out of range wrap around, or remain as they are.
void clamp(const Evidence& e, Verdicts& verdicts) {
  if (!e.rerun || !e.rerun->has("code_max") || !e.entry.codes) return;
  const auto wide = after(e, [](Rerun& layer) {
    layer.attributes["code_type"] = std::string("i16");
    layer.attributes["code_min"] = int64_t{-32768};
    layer.attributes["code_max"] = int64_t{32767};
    return true;
  });
  if (!wide) return;
  const auto least = static_cast<double>(e.rerun->whole("code_min")),
             most = static_cast<double>(e.rerun->whole("code_max"));
  for (const int bits : {e.entry.codes->bits(), 8, 16}) {
    const double range = std::exp2(bits), base = e.lowest() < 0 ? -range / 2 : 0;
    const auto wrapped_code = [&](double v) { return v - range * std::floor((v - base) / range); };
    Numbers both(wide->size()), above(wide->size()), below(wide->size());
    for (size_t i = 0; i < both.size(); ++i) {
      const double v = (*wide)[i];
      both[i] = wrapped_code(v);
      above[i] = v < least ? least : both[i];
      below[i] = v > most ? most : both[i];
    }
    verdicts.predict("the clamp is left out: codes wrap around", both);
    verdicts.predict("the clamp above is left out: codes wrap around", above);
    verdicts.predict("the clamp below is left out: codes wrap around", below);
  }
  verdicts.predict("the clamp is left out", *wide);
}

void zero_point(const Evidence& e, Verdicts& verdicts) {
  if (!e.rerun) return;
  for (const AttributeInfo& attribute : e.rerun->info->attributes) {
    if (!attribute.name.ends_with("zero_point") || e.rerun->whole(attribute.name) == 0) continue;
    const std::string of = attribute.name.front() == 'y' ? "result" : "input";
    consider(e, verdicts, fmt::format("the zero point {} of the {} is left out", e.rerun->whole(attribute.name), of),
             with_numbers({{attribute.name, 0}}));
    if (e.rerun->has("code_min") && attribute.name.front() == 'y')
      consider(e, verdicts, fmt::format("the zero point {} of the {} is left out", e.rerun->whole(attribute.name), of),
               with_numbers(
                   {{attribute.name, 0},
                    {"code_min",
                     e.rerun->whole("code_min") == e.rerun->whole(attribute.name) ? 0 : e.rerun->whole("code_min")}}));
  }
  consider(e, verdicts, "the zero point of the result is left out",
           with_operand("zero_point", [](const Rerun&, Tensor& z) {
             if (z.size() != 1 || element(z, 0) == 0) return false;
             set_element(z, 0, 0);
             return true;
           }));
}

std::string sides_text(const std::vector<int64_t>& pad) {
  return fmt::format("{} above, {} left, {} below, {} right", pad[0], pad[1], pad[2], pad[3]);
}

/// Pads images with a code instead of the operator's own padding.
bool fill_around(Rerun& layer, double code) {
  Tensor* x = layer.operand("x");
  if (x == nullptr || !layer.has("pad") || x->dims().size() != 4) return false;
  const auto pad = get<std::vector<int64_t>>(layer.attributes, "pad");
  if (pad.size() != 4 || std::ranges::all_of(pad, [](int64_t p) { return p == 0; })) return false;
  Dims dims = x->dims();
  const int64_t rows = dims[2], columns = dims[3];
  dims[2] += pad[0] + pad[2];
  dims[3] += pad[1] + pad[3];
  Tensor around(x->dtype(), dims);
  for (int64_t i = 0; i < around.size(); ++i) {
    const int64_t h = i / dims[3] % dims[2] - pad[0], w = i % dims[3] - pad[1], image = i / (dims[2] * dims[3]);
    const bool inside = h >= 0 && h < rows && w >= 0 && w < columns;
    set_element(around, i, inside ? element(*x, (image * rows + h) * columns + w) : code);
  }
  *x = around;
  layer.attributes["pad"] = std::vector<int64_t>(4, 0);
  return true;
}

void padding(const Evidence& e, Verdicts& verdicts) {
  if (!e.rerun || !e.rerun->has("pad")) return;
  const auto pad = get<std::vector<int64_t>>(e.rerun->attributes, "pad");
  if (pad.size() != 4) return;
  const int64_t rows = pad[0] + pad[2], columns = pad[1] + pad[3];
  for (int64_t top = 0; top <= rows; ++top) {
    for (int64_t left = 0; left <= columns; ++left) {
      const std::vector<int64_t> other = {top, left, rows - top, columns - left};
      if (other == pad) continue;
      consider(
          e, verdicts,
          fmt::format("the layer's padding is on other sides: {} instead of {}", sides_text(other), sides_text(pad)),
          [&](Rerun& layer) {
            layer.attributes["pad"] = other;
            return true;
          });
    }
  }
  for (const double code : {0.0, 128.0, 255.0, -128.0, 1.0}) {
    const double own = e.rerun->has("x_zero_point") ? static_cast<double>(e.rerun->whole("x_zero_point")) : 0;
    if (code == own) continue;
    consider(e, verdicts, fmt::format("the layer's padding has the code {}, expected the zero point {}", code, own),
             [&](Rerun& layer) { return fill_around(layer, code); });
  }
  if (e.rerun->has("count_include_pad"))
    consider(e, verdicts, "padding is counted although it should not be, or the reverse", [](Rerun& layer) {
      layer.attributes["count_include_pad"] = !get<bool>(layer.attributes, "count_include_pad");
      return true;
    });
}

/// The layer's input has another order of channels or pixels.
void input_order(const Evidence& e, Verdicts& verdicts) {
  const auto reorder = [&](const std::string& sentence,
                           const std::function<int64_t(const Dims&, int64_t, int64_t, int64_t)>& from) {
    consider(e, verdicts, sentence, with_operand("x", [&](const Rerun&, Tensor& x) {
               const Dims dims = x.dims();
               if (dims.size() != 4) return false;
               const Tensor old = x.clone();
               for (int64_t i = 0; i < x.size(); ++i) {
                 const int64_t c = i / (dims[2] * dims[3]) % dims[1], h = i / dims[3] % dims[2], w = i % dims[3];
                 const int64_t start = i / (dims[1] * dims[2] * dims[3]) * (dims[1] * dims[2] * dims[3]);
                 set_element(x, i, element(old, start + from(dims, c, h, w)));
               }
               return true;
             }));
  };
  if (!e.rerun || e.rerun->operand("x") == nullptr || e.rerun->operand("x")->dims().size() != 4) return;
  const Dims& dims = e.rerun->operand("x")->dims();
  const bool colours = dims[1] == 3 || dims[1] == 4;
  if (dims[1] > 1)
    reorder(colours ? "colours are reversed: BGR for RGB" : "the input's channels are in reverse order",
            [](const Dims& d, int64_t c, int64_t h, int64_t w) { return ((d[1] - 1 - c) * d[2] + h) * d[3] + w; });
}

void input_turned(const Evidence& e, Verdicts& verdicts) {
  const auto* x = e.rerun ? e.rerun->operand("x") : nullptr;
  if (x == nullptr || x->dims().size() != 4 || x->dims()[2] != x->dims()[3] || x->dims()[2] == 1) return;
  consider(e, verdicts, "the input has height and width swapped", with_operand("x", [](const Rerun&, Tensor& codes) {
             const Tensor old = codes.clone();
             const int64_t side = codes.dims()[2];
             for (int64_t i = 0; i < codes.size(); ++i) {
               const int64_t h = i / side % side, w = i % side;
               set_element(codes, i, element(old, i - h * side - w + w * side + h));
             }
             return true;
           }));
}

void input_sign(const Evidence& e, Verdicts& verdicts) {
  consider(e, verdicts, "the input is read with another sign", with_operand("x", [](const Rerun&, Tensor& x) {
             if (x.dtype() != DType::u8 && x.dtype() != DType::i8) return false;
             Tensor other(x.dtype() == DType::u8 ? DType::i8 : DType::u8, x.dims());
             std::copy_n(x.raw(), x.bytes(), other.raw());
             x = other;
             return true;
           }));
}

/// Accumulators with few bits that saturate or wrap around.
void saturated(const Evidence& e, Verdicts& verdicts) {
  if (!e.sums || !e.has_found()) return;
  double largest = 0;
  for (size_t i = 0; i < e.size(); ++i) largest = std::max(largest, std::abs(e.sums->accumulator(i)));
  for (int bits = 31; bits >= 8; --bits) {
    const auto end = static_cast<double>(int64_t{1} << (bits - 1));
    if (end > largest) continue;
    Numbers at_ends(e.size()), around(e.size()), before(e.size());
    for (size_t i = 0; i < e.size(); ++i) {
      const double sum = e.sums->accumulator(i), bias = e.sums->bias[e.sums->channel(i)];
      at_ends[i] = static_cast<double>(e.sums->code(i, static_cast<int64_t>(std::clamp(sum, -end, end - 1))));
      around[i] = static_cast<double>(
          e.sums->code(i, static_cast<int64_t>(sum - 2 * end * std::floor((sum + end) / (2 * end)))));
      before[i] =
          static_cast<double>(e.sums->code(i, static_cast<int64_t>(std::clamp(e.sums->sums[i], -end, end - 1) + bias)));
    }
    verdicts.predict(fmt::format("accumulators saturate at {} bits", bits), at_ends);
    verdicts.predict(fmt::format("sums saturate at {} bits, before the bias is added", bits), before);
    verdicts.predict(fmt::format("accumulators wrap around at {} bits", bits), around);
    if (verdicts.proved()) return;
  }
}

void operand_scale(const Evidence& e, Verdicts& verdicts) {
  if (!e.rerun || !e.rerun->has("a_multiplier")) return;
  for (const auto& [to, from] : {std::pair{"a_multiplier", "b_multiplier"}, std::pair{"b_multiplier", "a_multiplier"}})
    consider(e, verdicts, "one scale for both operands", with_numbers({{to, e.rerun->whole(from)}}));
  for (const char* one : {"a_multiplier", "b_multiplier"})
    consider(e, verdicts, fmt::format("the operand '{}' is left out", one[0]), with_numbers({{one, 0}}));
}

}  // namespace

const std::vector<Hypothesis>& reruns() {
  static const std::vector<Hypothesis> kAll = {{"rounding", rounding},
                                               {"bias", bias},
                                               {"activation", activation},
                                               {"clamp", clamp},
                                               {"zero_point", zero_point},
                                               {"padding", padding},
                                               {"channel_scale", channel_scale},
                                               {"bit_shift", shift},
                                               {"bgr", input_order},
                                               {"height_width", input_turned},
                                               {"sign", input_sign},
                                               {"operand_scale", operand_scale},
                                               {"rounding", rounding_of_steps},
                                               {"accumulator", saturated},
                                               {"channel_scale", any_scale}};
  return kAll;
}

}  // namespace halfstep::board
