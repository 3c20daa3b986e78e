#include "halfstep/quant/platform/step_observers.h"

#include <algorithm>
#include <limits>

#include "halfstep/core/arith/observer_step.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::quant {
namespace {

constexpr auto kDigits = static_cast<size_t>(arith::ExactSum::kDigits);

arith::StepRule rule_of(const ops::ObserveRange& observer) { return arith::StepRule(observer.attributes()); }

/// Visits each exact sum of a tensor.
template <class Visit>
void for_each_sum(Tensor& sums, Visit&& visit) {
  const auto digits = sums.data<double>();
  for (size_t i = 0; i < digits.size(); i += kDigits) {
    arith::ExactSum sum(digits.subspan(i, kDigits));
    visit(sum, i);
    sum.store(digits.subspan(i, kDigits));
  }
}

Tensor filled(const Dims& dims, float with) {
  Tensor tensor(DType::f32, dims);
  std::ranges::fill(tensor.data<float>(), with);
  return tensor;
}

/// The sums of a channel as the terms that the rule reads.
std::vector<double> terms_of(const arith::StepRule& rule, arith::Range range, std::span<const double> digits) {
  const arith::TermGrids grids = rule.term_grids(range);
  std::vector<double> terms;
  for (size_t i = 0; i < digits.size(); i += kDigits)
    terms.push_back(arith::ExactSum(digits.subspan(i, kDigits)).value(grids[static_cast<int64_t>(i / kDigits)]));
  return terms;
}

}  // namespace

bool watches_tensors(const ops::ObserveRange& observer) { return std::ranges::all_of(observer.x(), &Value::is_tensor); }

bool adds_up(const ops::ObserveRange& observer) { return rule_of(observer).terms() > 0; }

Model with_observers(const Model& observing, const std::function<bool(const ops::ObserveRange&)>& keeps) {
  Model part = observing;
  for (const ops::ObserveRange& observer : part.graph.all<ops::ObserveRange>()) {
    if (!keeps(observer)) part.graph.erase(observer);
  }
  return part;
}

void observe_extremes(Model& observing) {
  for (const ops::ObserveRange& observer : observing.graph.all<ops::ObserveRange>()) {
    observer.set_operand(observer.info().input("seen"), {});
    observer.set_attributes(
        {{"method", std::string("minmax")}, {"merge", std::string("widest")}, {"statistics", int64_t{0}}});
  }
}

void observe_sums(Model& observing, const std::function<bool(Value operand)>& keeps) {
  for (const ops::ObserveRange& observer : observing.graph.all<ops::ObserveRange>()) {
    std::vector<Value> x = observer.x();
    std::erase_if(x, [&](Value operand) { return !keeps(operand); });
    if (!adds_up(observer) || x.empty()) {
      observing.graph.erase(observer);
      continue;
    }
    Attributes attributes = observer.attributes();
    attributes["merge"] = std::string("parts");
    const int64_t statistics = arith::StepRule(attributes).statistics();
    attributes["statistics"] = statistics;
    const Value sums = passes::add_tensor(observing, observer.name() + ".sums",
                                          Tensor(DType::f64, {observer.low().dims()[0], statistics}), Role::state);
    Builder builder = Builder::before(observing.graph, observer);
    std::vector<Value> operands = {observer.low(), observer.high(), observer.scale(), observer.zero_point(), sums};
    operands.insert(operands.end(), x.begin(), x.end());
    builder.insert(
        {&ops::ObserveRange::record(), operands, attributes, observer.name() + ".parts", observer.location()});
    observing.graph.erase(observer);
  }
}

ObservedStep nothing_observed(const ops::ObserveRange& observer) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const Dims& dims = observer.low().dims();
  ObservedStep step{filled(dims, kInfinity), filled(dims, -kInfinity), {}};
  if (const int64_t terms = rule_of(observer).terms(); terms > 0)
    step.sums = Tensor(DType::f64, {dims[0], terms * arith::ExactSum::kDigits});
  return step;
}

ObservedStep range_of_sums(const Model& prepared, const ops::ObserveRange& observer, const ObservedStep& step) {
  const arith::StepRule rule = rule_of(observer);
  const auto low = passes::contents_of(prepared, observer.low()).data<float>();
  const auto high = passes::contents_of(prepared, observer.high()).data<float>();
  ObservedStep range{step.low.clone(), step.high.clone(), {}};
  for (size_t c = 0; c < low.size(); ++c) {
    float &step_low = range.low.data<float>()[c], &step_high = range.high.data<float>()[c];
    if (step_low > step_high) continue;
    const arith::Range of = rule.range_of_terms({low[c], high[c]}, {step_low, step_high});
    step_low = of.low;
    step_high = of.high;
  }
  return range;
}

void widen(ObservedStep& step, const Tensor& low, const Tensor& high) {
  const auto to_low = step.low.data<float>(), to_high = step.high.data<float>();
  for (size_t c = 0; c < to_low.size(); ++c) {
    to_low[c] = std::min(to_low[c], low.data<float>()[c]);
    to_high[c] = std::max(to_high[c], high.data<float>()[c]);
  }
}

void add_sums(Tensor& to, const Tensor& more, int64_t times) {
  const auto digits = more.data<double>();
  for_each_sum(to,
               [&](arith::ExactSum& sum, size_t at) { sum.add(arith::ExactSum(digits.subspan(at, kDigits)), times); });
}

void divide_sums(Tensor& sums, int64_t by) {
  for_each_sum(sums, [&](arith::ExactSum& sum, size_t) { sum.divide(by); });
}

void take_step(Model& prepared, const ops::ObserveRange& observer, const ObservedStep& step) {
  const arith::StepRule rule = rule_of(observer);
  const auto contents = [&](Value tensor) -> Tensor& { return passes::own_contents(prepared, tensor.name()); };
  const auto low = contents(observer.low()).data<float>(), high = contents(observer.high()).data<float>();
  const auto scale = contents(observer.scale()).data<float>();
  const auto zero_point = contents(observer.zero_point()).data<int32_t>();
  const auto kept = static_cast<size_t>(rule.statistics());
  std::span<double> seen;
  if (kept > 0) seen = contents(observer.seen()).data<double>();
  std::span<const double> sums;
  if (step.sums.defined()) sums = step.sums.data<double>();
  const size_t digits = sums.size() / low.size();
  for (size_t c = 0; c < low.size(); ++c) {
    const arith::Range range{step.low.data<float>()[c], step.high.data<float>()[c]};
    if (!range.seen()) continue;
    arith::ObserverState state{{low[c], high[c]}, seen.subspan(c * kept, kept), {scale[c], zero_point[c]}};
    const auto terms = terms_of(rule, rule.range_of_terms(state.range, range), sums.subspan(c * digits, digits));
    arith::take_step(rule, range, terms, state);
    low[c] = state.range.low;
    high[c] = state.range.high;
    scale[c] = state.parameters.scale;
    zero_point[c] = state.parameters.zero_point;
  }
}

}  // namespace halfstep::quant
