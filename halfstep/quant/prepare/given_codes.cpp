#include "halfstep/quant/prepare/given_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "halfstep/core/arith/range.h"
#include "halfstep/core/base/channel_elements.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/layer_bits.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

/// The numbers of an operand or, if there is no such port, of an attribute. Empty if an operand is computed.
std::vector<double> numbers_of(const Model& model, Op op, const char* name) {
  const int port = op.info().input(name);
  std::vector<double> numbers;
  if (port >= 0) {
    const Value value = op.in(port);
    if (!value || !value.is_tensor()) return {};
    const Tensor& tensor = model.tensors.at(value.name());
    for (int64_t i = 0; i < tensor.size(); ++i) numbers.push_back(element(tensor, i));
    return numbers;
  }
  const auto attribute = op.attributes().find(name);
  if (attribute == op.attributes().end()) return {};
  if (const auto* real = std::get_if<double>(&attribute->second)) numbers.push_back(*real);
  if (const auto* whole = std::get_if<int64_t>(&attribute->second)) numbers.push_back(static_cast<double>(*whole));
  return numbers;
}

/// The axis that a quantizer has one scale for each element of. -1 for a single scale.
int64_t axis_of(Op quantizer) {
  for (const char* name : {"axis", "quant_axis"}) {
    if (quantizer.attributes().contains(name)) return get<int64_t>(quantizer.attributes(), name);
  }
  return -1;
}

/// The largest magnitude of the tensor, or of each channel of an axis.
std::vector<double> largest_magnitudes(const Tensor& tensor, int64_t axis) {
  std::vector<double> magnitudes(axis < 0 ? 1 : static_cast<size_t>(tensor.dims()[static_cast<size_t>(axis)]), 0);
  for_each_element(tensor.dims(), axis, [&](size_t i, size_t c) {
    magnitudes[c] = std::max(magnitudes[c], std::abs(element(tensor, static_cast<int64_t>(i))));
  });
  return magnitudes;
}

/// Moves codes and zero points, which keeps all values.
void shift(GivenCodes& codes, int64_t by) {
  codes.code_min += by;
  codes.code_max += by;
  for (int64_t& zero : codes.zero_point) zero += by;
}

/// The range of values of a channel.
std::pair<float, float> values_of(const GivenCodes& codes, size_t channel) {
  const double scale = codes.scale[channel];
  const auto zero = static_cast<double>(codes.zero_point[channel]);
  return {static_cast<float>((static_cast<double>(codes.code_min) - zero) * scale),
          static_cast<float>((static_cast<double>(codes.code_max) - zero) * scale)};
}

/// Repeats a single scale for all channels, or replaces the scales by the largest range.
void fit_channels(GivenCodes& codes, size_t count) {
  if (codes.scale.size() == count) return;
  const auto largest = std::ranges::max_element(codes.scale) - codes.scale.begin();
  const float scale = codes.scale[static_cast<size_t>(largest)];
  const int64_t zero = codes.zero_point[static_cast<size_t>(largest)];
  codes.scale.assign(count, scale);
  codes.zero_point.assign(count, zero);
}

/// Sets the bit width if the platform allows it and the options do not ask for another one.
void try_bits(Model& prepared, const ops::FakeQuantize& quantizer, int bits, const PrepareOptions& options) {
  const auto& asked = is_weight(quantizer) ? options.weight_bits : options.activation_bits;
  if (asked || bits == bits_of(quantizer)) return;
  std::vector<Diagnostic> refused;
  collect(refused, "", "", [&] {
    set_bit_widths(prepared, platform_of(prepared), {{passes::scale_tensor(quantizer).name(), bits}});
  });
}

/// Sets the range of codes for all quantizers with the scale.
void set_code_range(Model& prepared, const ops::FakeQuantize& quantizer, const GivenCodes& codes) {
  const Attributes range = {{"code_min", codes.code_min}, {"code_max", codes.code_max}};
  for (const auto& one : prepared.graph.all<ops::FakeQuantize>()) {
    if (passes::scale_tensor(one) == passes::scale_tensor(quantizer)) one.set_attributes(range);
  }
  observer_of(quantizer).set_attributes(range);
}

/// The range near the given one from which the observer derives the nearest scale, with this zero point. Nothing if no
/// such scale differs by less than two roundings.
std::optional<std::pair<float, float>> range_with(const arith::CodeGrid& grid, float low, float high, float scale,
                                                  int64_t zero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::optional<std::pair<float, float>> nearest;
  double least = 0x1p-22 * static_cast<double>(scale);
  float moved = std::nextafter(std::nextafter(high, -kInfinity), -kInfinity);
  for (int moves = -2; moves <= 2; ++moves, moved = std::nextafter(moved, kInfinity)) {
    const auto found = arith::parameters_of(low, moved, grid);
    const double distance = std::abs(static_cast<double>(found.scale) - static_cast<double>(scale));
    if (found.zero_point != zero || distance >= least) continue;
    least = distance;
    nearest = std::pair(low, moved);
  }
  return nearest;
}

/// The lowest and the highest value of each channel of a weight, and 0. Empty for an activation.
std::vector<std::pair<float, float>> ranges_of_weight(const Model& prepared, const ops::FakeQuantize& quantizer) {
  if (!is_weight(quantizer)) return {};
  const Tensor& weight = prepared.tensors.at(quantizer.x().name());
  std::vector<std::pair<float, float>> ranges(static_cast<size_t>(passes::scale_tensor(quantizer).dims()[0]));
  const auto elements = weight.data<float>();
  for_each_element(weight.dims(), ranges.size() == 1 ? -1 : quantizer.axis(), [&](size_t i, size_t c) {
    ranges[c] = {std::min(ranges[c].first, elements[i]), std::max(ranges[c].second, elements[i])};
  });
  return ranges;
}

/// Fixes ranges from which the observer derives the scales. Returns whether all scales are the given ones, up to
/// rounding, and all zero points. Else a channel of a weight has the range of its values, if that is smaller.
bool fix_scales(Model& prepared, const ops::FakeQuantize& quantizer, const GivenCodes& codes) {
  const ops::ObserveRange observer = observer_of(quantizer);
  const arith::CodeGrid grid{static_cast<int32_t>(observer.code_min()), static_cast<int32_t>(observer.code_max()),
                             *arith::parse_zero_points(observer.zero_points()), observer.power_of_two(),
                             observer.nearest_power()};
  const auto contents = ranges_of_weight(prepared, quantizer);
  std::vector<float> lows, highs;
  bool are_given = true;
  for (size_t c = 0; c < codes.scale.size(); ++c) {
    auto [low, high] = values_of(codes, c);
    const bool is_symmetric = grid.zero_points == arith::ZeroPoints::symmetric && codes.zero_point[c] == 0;
    const float first = is_symmetric ? 0 : low;  // else the lowest of uneven codes would decide
    const auto range = range_with(grid, first, high, codes.scale[c], codes.zero_point[c]);
    are_given = are_given && range;
    if (range)
      std::tie(low, high) = *range;
    else if (!contents.empty())
      std::tie(low, high) = std::pair(std::max(low, contents[c].first), std::min(high, contents[c].second));
    lows.push_back(low);
    highs.push_back(high);
  }
  fix_range(prepared, quantizer, lows, highs);
  return are_given;
}

}  // namespace

std::optional<GivenCodes> given_codes(const Model& model, Op quantizer) {
  const auto& attributes = quantizer.attributes();
  if (!attributes.contains("quant_min") || !attributes.contains("quant_max")) return std::nullopt;
  GivenCodes codes{{}, {}, get<int64_t>(attributes, "quant_min"), get<int64_t>(attributes, "quant_max")};
  if (codes.code_min >= codes.code_max) return std::nullopt;
  for (const double scale : numbers_of(model, quantizer, "scale")) codes.scale.push_back(static_cast<float>(scale));
  for (const double zero : numbers_of(model, quantizer, "zero_point"))
    codes.zero_point.push_back(std::clamp(static_cast<int64_t>(std::nearbyint(zero)), codes.code_min, codes.code_max));
  codes.axis = axis_of(quantizer);
  const bool fits = !codes.scale.empty() && codes.scale.size() == codes.zero_point.size();
  const auto is_scale = [](float scale) { return scale > 0 && std::isfinite(scale); };
  return fits && std::ranges::all_of(codes.scale, is_scale) ? std::optional(codes) : std::nullopt;
}

std::optional<GivenCodes> codes_of_magnitudes(const Model& model, Op quantizer) {
  const auto& attributes = quantizer.attributes();
  const Value x = quantizer.in(0);
  if (!attributes.contains("bit_length") || x.dtype() != DType::f32) return std::nullopt;
  const int64_t bits = get<int64_t>(attributes, "bit_length");
  const int64_t largest =
      attributes.contains("qmax") ? get<int64_t>(attributes, "qmax") : (int64_t{1} << (bits - 1)) - 1;
  if (largest < 1 || largest >= int64_t{1} << (bits - 1)) return std::nullopt;  // e4m3 and e5m2 are no integers
  const int port = quantizer.info().quant.magnitude;
  GivenCodes codes{{}, {}, -largest, largest, axis_of(quantizer)};
  std::vector<double> magnitudes = port < 0 ? largest_magnitudes(model.tensors.at(x.name()), codes.axis)
                                            : numbers_of(model, quantizer, quantizer.info().inputs[port].name.c_str());
  const double most = magnitudes.empty() ? 0 : std::ranges::max(magnitudes);
  if (!(most > 0) || !std::isfinite(most)) return std::nullopt;
  for (const double magnitude : magnitudes) {
    const double scale = (magnitude > 0 ? magnitude : most) / static_cast<double>(largest);
    codes.scale.push_back(static_cast<float>(scale));
    codes.zero_point.push_back(0);
  }
  return codes;
}

std::string keep_codes(Model& prepared, const ops::FakeQuantize& quantizer, GivenCodes codes,
                       const PrepareOptions& options) {
  const std::string given = fmt::format("codes {}..{} of the source", codes.code_min, codes.code_max);
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(codes.code_max - codes.code_min)));
  try_bits(prepared, quantizer, bits, options);
  const auto channels = static_cast<size_t>(passes::scale_tensor(quantizer).dims()[0]);
  const bool has_all_scales = codes.scale.size() == 1 || codes.scale.size() == channels;
  fit_channels(codes, channels);
  const bool is_signed = quantizer.code_min() < 0;
  if (is_signed != (codes.code_min < 0)) shift(codes, is_signed ? -(int64_t{1} << (bits - 1)) : -codes.code_min);
  if (bits_of(quantizer) != bits) {
    fix_scales(prepared, quantizer, codes);
    return fmt::format("range of the {}, in {} bits", given, bits_of(quantizer));
  }
  set_code_range(prepared, quantizer, codes);
  const bool are_given = fix_scales(prepared, quantizer, codes) && has_all_scales;
  return are_given ? given : fmt::format("range of the {}", given);
}

}  // namespace halfstep::quant
