#include "halfstep/verify/equivalence/same_floats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/machine/throwing_tasks.h"
#include "halfstep/verify/equivalence/codings.h"
#include "halfstep/verify/equivalence/compared_programs.h"
#include "halfstep/verify/equivalence/errors.h"
#include "halfstep/verify/equivalence/real_values.h"
#include "halfstep/verify/operators/product_elements.h"

namespace halfstep::verify {
namespace {

constexpr double kFolding = 0x1p-23;   ///< twice the relative error of a weight or bias rounded to float32
constexpr double kInDouble = 0x1p-36;  ///< error of a different order of float64 operations, relative to the largest
                                       ///< element of the value

Value before_quantizers(Value value) {
  while (value && !value.is_tensor() && is_foreign_quantizer(value.producer())) value = value.producer().in(0);
  return value;
}

bool same_attributes(const Attributes& a, const Attributes& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && type_name(x.second) == type_name(y.second) &&
           to_string(x.second) == to_string(y.second);
  });
}

/// All numbers up to `hidden` are equal, because they are invisible to a softmax.
double distance(double a, double b, double hidden) {
  const bool are_hidden = a <= hidden && b <= hidden;
  return a == b || are_hidden || (std::isnan(a) && std::isnan(b)) ? 0.0 : std::fabs(a - b);
}

/// Whether only softmaxes read the value, possibly after operators that move elements.
bool is_masked(Value value) {
  return !value.uses().empty() && std::ranges::all_of(value.uses(), [&](const auto& use) {
    const auto& [reader, operand] = use;
    if (reader.template is<ops::Softmax>()) return true;
    const bool moves = reader.info().quant.trait == Trait::preserves_range && reader.results().size() == 1;
    return moves && operand == 0 && is_masked(reader.out(0));
  });
}

class FloatCheck {
 public:
  FloatCheck(const Model& source, const Model& rewritten, const Tensors& inputs, const FloatOptions& options)
      : source_(sized_for(source, inputs)), rewritten_(sized_for(rewritten, inputs)), options_(options) {
    for (const Op op : rewritten_.graph.ops()) {
      for (const Value value : op.results()) pair(value);
    }
    require_outputs(source, rewritten);
  }

  FloatReport run(const Tensors& inputs, ThreadPool& pool) {
    for (const auto& [name, tensor] : inputs) numbers_[name] = {tensor};
    std::vector<std::string> fetch;
    for (const auto& [node, value] : source_of_) fetch.push_back(value.name());
    std::ranges::sort(fetch);
    fetch.erase(std::ranges::unique(fetch).begin(), fetch.end());
    for (const auto& [name, tensor] : program_of(source_, inputs, fetch).run(inputs, pool)) numbers_[name] = {tensor};
    FloatReport report;
    std::vector<Comparison> comparisons = find_touched(report);
    parallel_for_throwing(pool, std::ssize(comparisons),
                          [&](int64_t i) { compare(comparisons[static_cast<size_t>(i)]); });
    for (const Comparison& one : comparisons) report.add(one.result);
    return report;
  }

 private:
  /// A value that both networks have but compute differently.
  struct Comparison {
    Value value, source;
    uint64_t stream = 0;  ///< stream of random numbers
    FloatReport result = {};
  };

  void pair(Value value) {
    const Value source = source_value(source_.graph, rewritten_.graph, value);
    if (!source) return;
    if (source.type() != value.type())
      fail(errors::source_does_not_match(fmt::format("value '{}'", value.name()), to_string(source.type()),
                                         fmt::format("{}, as in the prepared network", to_string(value.type()))));
    source_of_[value.node()] = source;
  }

  void require_outputs(const Model& source, const Model& rewritten) const {
    const auto &expected = source.graph.body().output_names(), &found = rewritten.graph.body().output_names();
    bool same = expected == found;
    const auto before = source_.graph.outputs(), after = rewritten_.graph.outputs();
    for (size_t i = 0; same && i < before.size(); ++i)
      same = i < after.size() && before_quantizers(before[i]) == before_quantizers(counterpart(after[i]));
    if (!same)
      fail(errors::source_does_not_match(fmt::format("network '{}'", rewritten.graph.name()), "other outputs",
                                         "the outputs of the source model"));
  }

  /// The value of the source that corresponds to a value of the rewritten network, null if there is none.
  Value counterpart(Value value) const {
    if (value.is_tensor()) return source_.graph.tensor(value.name());
    if (!value.producer()) return source_.graph.value(value.name());
    const auto found = source_of_.find(value.node());
    return found == source_of_.end() ? Value() : found->second;
  }

  bool same_operand(Value a, Value b) const {
    if (!a || !b) return !a && !b;
    if (b.is_tensor() != a.is_tensor()) return false;
    if (b.is_tensor()) return source_.tensors.at(a.name()).same_bits(rewritten_.tensors.at(b.name()));
    return before_quantizers(a) == before_quantizers(counterpart(b));
  }

  /// Whether both networks apply the same operator to the same operands. Operators with regions have no such test,
  /// because regions read more than operands.
  bool is_untouched(Op before, Op after) const {
    return before && &before.info() == &after.info() && same_attributes(before.attributes(), after.attributes()) &&
           std::ranges::equal(before.operands(), after.operands(),
                              [&](Value a, Value b) { return same_operand(a, b); });
  }

  std::vector<Comparison> find_touched(FloatReport& report) const {
    std::vector<Comparison> touched;
    for (const Op op : rewritten_.graph.ops()) {
      for (const Value value : op.results()) {
        const Value source = counterpart(value);
        if (!source) continue;
        ++report.values;
        if (!is_untouched(source.producer(), op))
          touched.push_back({value, source, static_cast<uint64_t>(report.values)});
      }
    }
    return touched;
  }

  void compare(Comparison& one) const {
    const Value value = one.value, source = one.source;
    const size_t axis = value.dims().size() > 1 ? 1 : 0;
    const auto indices = spread_indices(value.dims(), axis, options_.elements, Random(options_.seed, one.stream));
    RealValues before(source_.graph, source_.tensors), after(rewritten_.graph, rewritten_.tensors);
    before.begin([&](Value known) { return known == source ? nullptr : numbers(known); });
    after.begin([&](Value known) { return known == value ? nullptr : numbers(counterpart(known)); });
    const auto expected = before.elements(source, indices), found = after.elements(value, indices);
    const double largest = largest_of(expected);
    auto bounds = bounds_of(after, value, indices, largest);
    if (is_recognised(source.producer(), value.producer())) {
      const double constants = kConstants * std::max(largest, largest_operand(after, value.producer()));
      for (double& bound : bounds) bound += constants;
    }
    const double hidden = is_masked(value) ? kMasking / 2 : kHidden;
    FloatReport& result = one.result;
    result.compared = std::ssize(indices);
    for (size_t i = 0; i < indices.size(); ++i) {
      const double moved = distance(expected[i], found[i], hidden);
      if (largest > 0 && std::isfinite(moved)) result.difference = std::max(result.difference, moved / largest);
      if (moved == 0 || moved <= bounds[i]) continue;  // a bound may be NaN, like the values
      result.faults.push_back({value.name(), indices[i], expected[i], found[i], bounds[i]});
      return;
    }
  }

  static double largest_of(const std::vector<double>& floats) {
    double largest = 0;
    for (const double real : floats) largest = std::isfinite(real) ? std::max(largest, std::fabs(real)) : largest;
    return largest;
  }

  static double largest_operand(RealValues& values, Op op) {
    const Value operand = op.in(0);
    std::vector<int64_t> all(static_cast<size_t>(count_elements(operand.dims())));
    std::iota(all.begin(), all.end(), int64_t{0});
    return largest_of(values.elements(operand, all));
  }

  /// A layer whose result the source does not have, because an activation function or operators that move elements
  /// follow. The result of the activation function, or of the layer without one, has its elements in the same order.
  struct InnerLayer {
    Value product, result;
    double slope = 1;  ///< largest slope of the activation function
  };

  bool is_inner(Value value) const { return value.producer() && !counterpart(value); }

  InnerLayer inner_layer(Value value) const {
    InnerLayer found{value, value};
    for (Op op = value.producer(); keeps_order(op) || op.is<ops::Transpose>(); op = found.result.producer()) {
      if (!is_inner(op.in(0))) break;
      found.result = op.in(0);
    }
    found.product = found.result;
    const Op last = found.result.producer();
    if (found.result != value && last.info().quant.trait == Trait::fuses_into_producer && is_inner(last.in(0))) {
      found.product = last.in(0);
      const bool slopes = last.info().attribute("alpha") != nullptr;
      found.slope = std::max(1.0, slopes ? std::fabs(get<double>(last.attributes(), "alpha")) : 1.0);
    }
    return weight_ports(found.product.producer()) ? found : InnerLayer{value, value};
  }

  /// For each element of the result of an operator with a weight, the sum of the magnitudes of its terms.
  std::vector<double> magnitudes_of(RealValues& values, const InnerLayer& layer, Value value,
                                    const std::vector<int64_t>& indices) const {
    if (layer.product == value) return values.magnitudes(value, indices);
    const Dims& dims = layer.product.dims();
    std::vector<int64_t> all(static_cast<size_t>(count_elements(dims)));
    std::iota(all.begin(), all.end(), int64_t{0});
    std::vector<double> magnitudes = values.magnitudes(layer.product, all);
    for (double& magnitude : magnitudes) magnitude *= layer.slope;
    const Numbers numbers{Tensor::of<double>(DType::f64, dims, magnitudes)};
    RealValues moved(rewritten_.graph, rewritten_.tensors);
    moved.begin([&](Value known) {
      return known == layer.result ? &numbers : known == value ? nullptr : this->numbers(counterpart(known));
    });
    return moved.elements(value, indices);
  }

  std::vector<double> bounds_of(RealValues& values, Value value, const std::vector<int64_t>& indices,
                                double largest) const {
    const InnerLayer layer = inner_layer(value);
    if (!weight_ports(layer.product.producer())) return std::vector<double>(indices.size(), kInDouble * largest);
    std::vector<double> bounds = magnitudes_of(values, layer, value, indices);
    for (double& bound : bounds) bound = kFolding * bound + kInDouble * largest;
    return bounds;
  }

  /// The numbers of a value in a run of the source. Null for a value that the networks do not share.
  const Numbers* numbers(Value source) const {
    if (!source || source.is_tensor()) return nullptr;
    const auto found = numbers_.find(source.name());
    return found == numbers_.end() ? nullptr : &found->second;
  }

  Model source_, rewritten_;
  FloatOptions options_;
  std::map<const detail::ValueNode*, Value> source_of_;
  std::map<std::string, Numbers> numbers_;
};

std::string difference(Op a, Op b) {
  if (a.name() != b.name()) return fmt::format("has '{}' instead of '{}'", b.name(), a.name());
  if (&a.info() != &b.info()) return fmt::format("has {} '{}', not {}", b.info().name, b.name(), a.info().name);
  if (!same_attributes(a.attributes(), b.attributes()))
    return fmt::format("has different attributes at '{}'", a.name());
  return fmt::format("has different operands at '{}'", a.name());
}

bool same_names(Value a, Value b) {
  return !a || !b ? !a && !b : a.name() == b.name() && a.is_tensor() == b.is_tensor();
}

bool same_op(Op a, Op b) {
  return a.name() == b.name() && &a.info() == &b.info() && same_attributes(a.attributes(), b.attributes()) &&
         std::ranges::equal(a.operands(), b.operands(), same_names);
}

std::string first_difference(const Graph& a, const Graph& b) {
  const auto before = a.ops(), after = b.ops();
  for (size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (!same_op(before[i], after[i])) return difference(before[i], after[i]);
  }
  if (before.size() == after.size()) return "has different types or outputs";
  return fmt::format("has {} operators, not {}", after.size(), before.size());
}

}  // namespace

void FloatReport::add(const FloatReport& part) {
  values += part.values;
  compared += part.compared;
  difference = std::max(difference, part.difference);
  faults.insert(faults.end(), part.faults.begin(), part.faults.end());
  if (structure.empty()) structure = part.structure;
  trained = trained || part.trained;
}

FloatReport same_floats(const Model& source, const Model& rewritten, const Tensors& inputs, const FloatOptions& options,
                        ThreadPool& pool) {
  return FloatCheck(source, rewritten, inputs, options).run(inputs, pool);
}

void compare_structure(FloatReport& report, const Model& rewritten, const Model& unquantized) {
  if (!(rewritten.graph == unquantized.graph)) {
    report.structure = first_difference(rewritten.graph, unquantized.graph);
    return;
  }
  report.trained = !std::ranges::all_of(rewritten.tensors, [&](const auto& entry) {
    return entry.second.same_bits(unquantized.tensors.at(entry.first));
  });
}

}  // namespace halfstep::verify
