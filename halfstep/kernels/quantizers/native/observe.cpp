#include "halfstep/kernels/quantizers/native/observe.h"

#include <cmath>

#include "halfstep/arith/code.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {

Observer::Observer(const Problem& problem) {
  const ObserveRange attributes(problem.attributes);
  const auto zero_points = arith::parse_zero_points(attributes.zero_points);
  HS_CHECK(zero_points.has_value());
  is_test = attributes.is_test;
  mse = attributes.method == "mse";
  rate = attributes.rate;
  grid = {static_cast<int32_t>(attributes.code_min), static_cast<int32_t>(attributes.code_max), *zero_points,
          attributes.power_of_two};
  channels = count_elements(problem.in[ObserveRange::in::low]->dims);
  for (const Type* x : problem.in.subspan(ObserveRange::in::x))
    operands.emplace_back(Channels::of(x->dims, attributes.axis));
}

int64_t Observer::blocks() const {
  int64_t count = 0;
  for (const Blocks& operand : operands) count += operand.count();
  return count;
}

Range Observer::candidate(Range batch, int index) const {
  const double factor = grid.power_of_two ? std::ldexp(1.0, -index) : 1.0 - index / 80.0;
  return {static_cast<float>(batch.low * factor), static_cast<float>(batch.high * factor)};
}

double squared_error(float x, const arith::AffineParameters& parameters, const arith::CodeGrid& grid) {
  const arith::CodeRule rule{grid.code_min, grid.code_max};
  const int32_t code = arith::code_of(x, parameters.scale, parameters.zero_point, rule);
  const double error = static_cast<double>(x) - arith::real_of(code, parameters.scale, parameters.zero_point);
  return error * error;
}

int best_candidate(const double* errors, int count) {
  int best = 0;
  for (int i = 1; i < count; ++i) {
    if (errors[i] < errors[best]) best = i;
  }
  return best;
}

Verdict accept_observer(const Problem& problem) {
  const ObserveRange attributes(problem.attributes);
  if (attributes.axis < 0) return accept();
  const int64_t channels = count_elements(problem.in[ObserveRange::in::low]->dims);
  for (const Type* x : problem.in.subspan(ObserveRange::in::x)) {
    const bool has_axis = attributes.axis < static_cast<int64_t>(x->dims.size());
    if (!has_axis || x->dims[attributes.axis] != channels)
      return refuse("an operand {} has not the {} channels of the state on axis {}", to_string(*x), channels,
                    attributes.axis);
  }
  return accept();
}

void update_channel(const Call& call, const Observer& observer, int64_t channel, Range batch) {
  using In = ObserveRange::in;
  using Out = ObserveRange::out;
  const Range old{call.in[In::low].as<const float>()[channel], call.in[In::high].as<const float>()[channel]};
  Range range = old;
  arith::AffineParameters parameters{call.in[In::scale].as<const float>()[channel],
                                     call.in[In::zero_point].as<const int32_t>()[channel]};
  if (batch.seen()) {
    const auto moved = [&](float from, float to) {
      return static_cast<float>((1.0 - observer.rate) * from + observer.rate * to);
    };
    range = old.seen() ? Range{moved(old.low, batch.low), moved(old.high, batch.high)} : batch;
    parameters = arith::parameters_of(range.low, range.high, observer.grid);
  }
  call.out[Out::low_out].as<float>()[channel] = range.low;
  call.out[Out::high_out].as<float>()[channel] = range.high;
  call.out[Out::scale_out].as<float>()[channel] = parameters.scale;
  call.out[Out::zero_point_out].as<int32_t>()[channel] = parameters.zero_point;
}

}  // namespace halfstep::kernels
