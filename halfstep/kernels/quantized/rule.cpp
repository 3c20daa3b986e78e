#include "halfstep/kernels/quantized/rule.h"

#include <cmath>

namespace halfstep::kernels {
namespace {

std::string reason(double factor, arith::Requantization form) {
  if (!std::isfinite(factor) || factor <= 0.0) return "is not a positive number";
  if (arith::keeps_scales(form)) return "has no leaky_relu in float32";
  if (form == arith::Requantization::fixed_point)
    return fmt::format("needs a shift outside {}..{}", arith::kMinShift, arith::kMaxShift);
  return fmt::format("is not a power of two from 2^{} to 2^{}", -arith::kMaxPowerShift, -arith::kMinPowerShift);
}

}  // namespace

Status RequantizeRule::derive(double factor, int64_t channel, arith::Scaling& scaling) const {
  const auto derived = arith::to_scaling(factor, form, bits, activation, alpha);
  if (derived) {
    scaling = *derived;
    return {};
  }
  // leaky_relu has two factors: blame the positive one unless it has a scaling of its own.
  const bool negative = arith::to_scaling(factor, form, bits, arith::Activation::none, 0.0).has_value();
  const double found = negative ? factor * alpha : factor;
  const std::string where = channel < 0 ? "" : fmt::format("channel {}: ", channel);
  return Status(fmt::format("{}requantization factor {:.6g}{} {}", where, found,
                            negative ? " of negative accumulators" : "", reason(found, form)));
}

Status RequantizeRule::derive(const arith::EngineStep& step, int64_t channel, arith::Scaling& scaling) const {
  const std::string where = channel < 0 ? "" : fmt::format("channel {}: ", channel);
  if (activation == arith::Activation::leaky_relu)
    return Status(fmt::format("{}PyTorch's engines take no leaky_relu into a layer", where));
  if (!step.is_legal())
    return Status(
        fmt::format("{}requantization factor {:.6g} with bias {:.6g}, expected a positive number and a finite one",
                    where, step.scale * step.channel_scale * step.factor, step.bias));
  scaling = arith::Scaling::of(form, step);
  return {};
}

Status check_zero_point(int32_t zero_point, bool wide_codes) {
  const int32_t last = wide_codes ? 65535 : 255;
  if (zero_point >= 0 && zero_point <= last) return {};
  return Status(fmt::format("x_zero_point is {}, expected a code from 0 to {}", zero_point, last));
}

}  // namespace halfstep::kernels
