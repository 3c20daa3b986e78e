#include "halfstep/tune/sensitivity/rounder.h"

#include <algorithm>
#include <cmath>

#include "halfstep/passes/graph/tensors.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::sensitivity {
namespace {

std::optional<arith::Levels> levels_of(const ops::FakeQuantize& quantizer, QuantizerKind kind) {
  if (kind != QuantizerKind::nnie && kind != QuantizerKind::apot) return std::nullopt;
  const auto spacing = kind == QuantizerKind::nnie ? arith::LevelKind::logarithmic : arith::LevelKind::powers;
  return arith::Levels(spacing, static_cast<int32_t>(quantizer.code_min()), static_cast<int32_t>(quantizer.code_max()));
}

std::vector<float> scales_of(const Model& model, const ops::FakeQuantize& quantizer) {
  std::vector<float> scales;
  for (int64_t c = 0; c < quantizer.scale().dims()[0]; ++c)
    scales.push_back(quant::effective_scale(model, quantizer, static_cast<size_t>(c)));
  return scales;
}

std::vector<int32_t> zero_points_of(const Model& model, const ops::FakeQuantize& quantizer) {
  const auto contents = passes::contents_of(model, quantizer.zero_point()).data<int32_t>();
  return {contents.begin(), contents.end()};
}

}  // namespace

Rounder::Rounder(const ops::FakeQuantize& quantizer, QuantizerKind kind, std::vector<float> scale,
                 std::vector<int32_t> zero_point)
    : rule_{static_cast<int32_t>(quantizer.code_min()), static_cast<int32_t>(quantizer.code_max()),
            quantizer.method() == "reciprocal", *arith::parse_rounding(quantizer.rounding())},
      levels_(levels_of(quantizer, kind)),
      scale_(std::move(scale)),
      zero_point_(std::move(zero_point)),
      axis_(quantizer.axis()) {}

Rounder::Rounder(const Model& model, const ops::FakeQuantize& quantizer, QuantizerKind kind)
    : Rounder(quantizer, kind, scales_of(model, quantizer), zero_points_of(model, quantizer)) {}

Rounder::Rounded Rounder::on_levels(float x, float scale, int32_t zero_point) const {
  const double end = levels_->end(scale, zero_point);
  const bool is_clipped = std::abs(static_cast<double>(x)) > end || (x < 0 && !levels_->is_signed(zero_point));
  return {levels_->nearest(x, scale, zero_point), is_clipped, 0};
}

size_t Rounder::codes() const { return levels_ ? 0 : static_cast<size_t>(rule_.code_max - rule_.code_min + 1); }

Rounder::Ends Rounder::ends(size_t channel) const {
  const float scale = scale_[channel];
  const int32_t zero_point = zero_point_[channel];
  if (!levels_)
    return {arith::real_of(rule_.code_min, scale, zero_point), arith::real_of(rule_.code_max, scale, zero_point)};
  const auto end = static_cast<float>(levels_->end(scale, zero_point));
  return {levels_->is_signed(zero_point) ? -end : 0, end};
}

float Rounder::low() const {
  float low = 0;
  for (size_t c = 0; c < channels(); ++c) low = std::min(low, ends(c).low);
  return low;
}

float Rounder::high() const {
  float high = 0;
  for (size_t c = 0; c < channels(); ++c) high = std::max(high, ends(c).high);
  return high;
}

Channels::Channels(const Dims& dims, int64_t axis) {
  if (axis < 0) return;
  count = static_cast<size_t>(dims[static_cast<size_t>(axis)]);
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) step *= static_cast<size_t>(dims[i]);
}

}  // namespace halfstep::sensitivity
