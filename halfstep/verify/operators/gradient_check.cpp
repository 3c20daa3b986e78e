#include "halfstep/verify/operators/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/verify/operators/compare_tensors.h"
#include "halfstep/verify/operators/differences.h"

namespace halfstep::verify {
namespace {

// Streams of random numbers. Operands use the streams from 0.
constexpr uint64_t kOutGradStream = 1 << 20;
constexpr uint64_t kDirectionStream = 2 << 20;
constexpr int64_t kElements = 32;

bool is_code(DType dtype) {
  return dtype == DType::u8 || dtype == DType::u16 || dtype == DType::i8 || dtype == DType::i4;
}

Tensor random_tensor(DType dtype, const Dims& dims, uint64_t seed, uint64_t stream) {
  Tensor tensor(dtype, dims);
  Random random(seed, stream);
  for (int64_t i = 0; i < tensor.size(); ++i) set_element(tensor, i, 2.0 * static_cast<double>(random.uniform()) - 1.0);
  return tensor;
}

/// One problem with its gradient graph.
class GradientCheck {
 public:
  GradientCheck(const Problem& problem, const OpTest& record, uint64_t seed, std::vector<Tensor> operands)
      : problem_(problem),
        differentiable_(problem.info->gradient == GradientKind::derivative && record.no_gradient_check.empty()),
        excepted_(record.no_gradient_check),
        seed_(seed),
        operands_(std::move(operands)),
        single_(make_single(problem, operands_, OperandSource::arguments)) {}

  Outcome run(const GradientBuilder& builder, CpuLevel level, ThreadPool& pool) {
    if (single_.op.results().empty()) return skipped("no output");
    if (Outcome built = build(builder); built.kind != Outcome::Kind::passed) return built;
    compute(level, pool);
    for (const size_t operand : reached_) {
      if (const std::string wrong = check_form(operand); !wrong.empty()) return about(operand, wrong);
      const bool differences = differentiable_ && is_float(operands_[operand].dtype());
      const std::string wrong = differences ? check_differences(operand) : check_rule(operand);
      if (!wrong.empty()) return about(operand, wrong);
    }
    return passed();
  }

  /// Compares with the gradients of `wide`, the same problem with the same numbers in f64.
  Outcome run_beside(GradientCheck& wide, const GradientBuilder& builder, CpuLevel level, ThreadPool& pool) {
    if (single_.op.results().empty()) return skipped("no output");
    if (!differentiable_) return skipped("a rule that is not a derivative is checked only in f32");
    try {
      if (Outcome built = build(builder); built.kind != Outcome::Kind::passed) return built;
      compute(level, pool);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      return skipped(std::string("no gradient in half precision: ") + error.what());
    }
    for (const Tensor& grad : out_grads_) wide.out_grads_.push_back(widened(grad));
    if (Outcome built = wide.build(builder); built.kind != Outcome::Kind::passed) return built;
    wide.evaluate_all();
    for (const size_t operand : reached_) {
      if (const std::string wrong = check_form(operand); !wrong.empty()) return about(operand, wrong);
      const Tensor& expected = wide.known_.at(wide.gradients_[operand].node());
      if (const std::string wrong = check_rounded(operand, expected); !wrong.empty()) return about(operand, wrong);
    }
    return passed();
  }

 private:
  Outcome about(size_t operand, const std::string& what) const {
    return failed(fmt::format("gradient of {}: {}", operand_name(problem_, operand), what));
  }

  Outcome build(const GradientBuilder& builder) {
    std::vector<bool> wanted;
    for (const Tensor& operand : operands_)
      wanted.push_back(operand.defined() && (is_float(operand.dtype()) || is_code(operand.dtype())));
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return skipped("no operand of floats or codes");
    const std::vector<Value> out_grads = add_out_grads(builder, wanted);
    Graph& graph = single_.model.graph;
    Builder at_end(graph);
    try {
      gradients_ = builder(at_end, single_.op, out_grads, wanted);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      return skipped(error.what());
    }
    return fetch_gradients();
  }

  /// Random gradients of the first output and of every other output through which gradients pass.
  std::vector<Value> add_out_grads(const GradientBuilder& builder, const std::vector<bool>& wanted) {
    Graph& graph = single_.model.graph;
    const std::vector<Value> results = single_.op.results();
    std::vector<Value> out_grads(problem_.info->outputs.size());
    const bool is_given = !out_grads_.empty();
    out_grads_.resize(out_grads.size());
    for (const Value result : results) {
      const auto port = static_cast<size_t>(result.port());
      const bool is_first = result == results.front(), is_of_floats = is_float(result.dtype());
      if (!is_first && (!is_of_floats || !passes_through(builder, wanted, port))) continue;
      const DType dtype = is_of_floats ? result.dtype() : DType::f32;
      if (!is_given) out_grads_[port] = random_tensor(dtype, result.dims(), seed_, kOutGradStream + port);
      const std::string name = graph.unique_name("out_grad");
      out_grads[port] = graph.add_argument(name, out_grads_[port].type());
      single_.inputs[name] = out_grads_[port];
    }
    return out_grads;
  }

  /// Whether the gradient of any operand reads that of an output.
  bool passes_through(const GradientBuilder& builder, const std::vector<bool>& wanted, size_t port) const {
    Single alone = make_single(problem_, operands_, OperandSource::arguments);
    std::vector<Value> out_grads(problem_.info->outputs.size());
    out_grads[port] = alone.op.out(static_cast<int>(port));
    Builder at_end(alone.model.graph);
    try {
      const std::vector<Value> gradients = builder(at_end, alone.op, out_grads, wanted);
      return std::ranges::any_of(gradients, [](Value gradient) { return static_cast<bool>(gradient); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      return false;
    }
  }

  Outcome fetch_gradients() {
    std::vector<Value> values;
    std::vector<std::string> names;
    for (size_t i = 0; i < gradients_.size(); ++i) {
      if (!gradients_[i]) continue;
      reached_.push_back(i);
      values.push_back(gradients_[i]);
      names.push_back(std::to_string(i));
    }
    single_.model.graph.set_outputs(std::move(values), std::move(names));
    if (!reached_.empty()) return passed();
    if (!is_float(single_.op.results().front().dtype()))
      return skipped("the result is not float, so it has no gradient");
    return excepted_.empty() ? failed("the rule computes no gradient for any operand") : skipped(excepted_);
  }

  void compute(CpuLevel level, ThreadPool& pool) {
    CompileOptions options;
    options.level = level;
    options.optimize = false;
    found_ = compile(single_.model, options).run(single_.inputs, pool);
    evaluate_all();
  }

  void evaluate_all() {
    for (const Value argument : single_.model.graph.arguments())
      known_[argument.node()] = single_.inputs.at(argument.name());
    for (const Op op : single_.model.graph.ops()) evaluate_by_reference(op);
  }

  void evaluate_by_reference(Op op) {
    std::vector<Tensor> operands;
    for (const Value operand : op.operands()) operands.push_back(operand ? known_.at(operand.node()) : Tensor());
    const std::vector<Tensor> results = compiler::evaluate(op, operands);
    const std::vector<Value> values = op.results();
    for (size_t i = 0; i < values.size(); ++i) known_[values[i].node()] = results[i];
    if (const auto tolerance = op_test(op.info().name).tolerance)
      rule_tolerance_ = rule_tolerance_.value_or(0) + *tolerance;
  }

  const Tensor& found(size_t operand) const { return found_.at(std::to_string(operand)); }

  std::string check_form(size_t operand) const {
    const Tensor& of = operands_[operand];
    const Type expected{is_float(of.dtype()) ? of.dtype() : DType::f32, of.dims()};
    const Tensor& gradient = found(operand);
    if (gradient.type() != expected)
      return fmt::format("found {}, expected {}", to_string(gradient.type()), to_string(expected));
    for (int64_t i = 0; i < gradient.size(); ++i) {
      if (!std::isfinite(element(gradient, i)))
        return fmt::format("element {} is {}, expected a finite number", i, element(gradient, i));
    }
    return {};
  }

  /// Allows a few units in the last place of the largest element, because intermediate values are rounded too.
  std::string check_rounded(size_t operand, const Tensor& expected) const {
    const Tensor& gradient = found(operand);
    const double unit = gradient.dtype() == DType::f16 ? 0x1p-10 : gradient.dtype() == DType::bf16 ? 0x1p-7 : 0x1p-22;
    double largest = kSmallest;
    for (int64_t i = 0; i < gradient.size(); ++i) largest = std::max(largest, std::fabs(element(expected, i)));
    for (int64_t i = 0; i < gradient.size(); ++i) {
      if (!(std::fabs(element(gradient, i) - element(expected, i)) <= kUnits * unit * largest))
        return fmt::format("element {} is {}, in f64 {}", i, element(gradient, i), element(expected, i));
    }
    return {};
  }

  std::string check_rule(size_t operand) const {
    return difference(found(operand), known_.at(gradients_[operand].node()), rule_tolerance_);
  }

  std::string check_differences(size_t operand) const {
    if (found(operand).size() == 0) return {};
    Differences differences(problem_, operands_, out_grads_);
    const Tensor& gradient = found(operand);
    double largest = 0, norm = 0;
    for (int64_t i = 0; i < gradient.size(); ++i) {
      largest = std::max(largest, std::fabs(element(gradient, i)));
      norm += element(gradient, i) * element(gradient, i);
    }
    for (const int64_t index : chosen(gradient.size())) {
      const double expected = differences.derivative(operand, {{index, 1.0}});
      const double allowed = differences.tolerance() * std::max({largest, std::fabs(expected), kSmallest});
      if (!(std::fabs(element(gradient, index) - expected) <= allowed))
        return fmt::format("element {} is {}, the difference quotient {}", index, element(gradient, index), expected);
    }
    return check_direction(operand, differences, std::max(std::sqrt(norm), kSmallest));
  }

  std::string check_direction(size_t operand, Differences& differences, double norm) const {
    const Tensor& gradient = found(operand);
    const Tensor slopes = random_tensor(DType::f64, gradient.dims(), seed_, kDirectionStream + operand);
    std::vector<std::pair<int64_t, double>> direction;
    double sum = 0;
    for (int64_t i = 0; i < gradient.size(); ++i) {
      direction.emplace_back(i, element(slopes, i));
      sum += element(gradient, i) * element(slopes, i);
    }
    const double expected = differences.derivative(operand, direction);
    const double allowed = differences.tolerance() * std::max(norm, std::fabs(expected));
    if (std::fabs(sum - expected) <= allowed) return {};
    return fmt::format("the slope along a random direction is {}, the difference quotient {}", sum, expected);
  }

  /// All elements, or a random selection of kElements.
  std::vector<int64_t> chosen(int64_t size) const {
    std::vector<int64_t> order = Random(seed_, kDirectionStream).permutation(size);
    order.resize(static_cast<size_t>(std::min(size, kElements)));
    return order;
  }

  static constexpr double kUnits = 8;
  static constexpr double kSmallest = 1e-3;  ///< lower bound of the magnitude to which errors are relative

  const Problem& problem_;
  bool differentiable_;
  std::string excepted_;  ///< reason to omit difference quotients, or ""
  uint64_t seed_;
  std::vector<Tensor> operands_;
  Single single_;
  std::vector<Tensor> out_grads_;  ///< by output port, undefined for one that counts as constant
  std::vector<Value> gradients_;   ///< by operand
  std::vector<size_t> reached_;    ///< operands that have a gradient
  std::map<std::string, Tensor> found_;
  std::map<const detail::ValueNode*, Tensor> known_;  ///< reference results for every value of the graph
  std::optional<double> rule_tolerance_;
};

}  // namespace

Outcome check_gradient(const Problem& problem, const OpTest& record, uint64_t seed, const GradientBuilder& builder,
                       CpuLevel level, ThreadPool& pool) {
  if (problem.info->gradient == GradientKind::none)
    return record.without_gradient.empty() ? failed("the record has neither a gradient nor a reason, grad: {none: WHY}")
                                           : skipped(record.without_gradient);
  const std::vector<Tensor> operands = fill_operands(problem, record, seed, Specials::none);
  GradientCheck check(problem, record, seed, operands);
  const auto is_half = [](const std::optional<Type>& type) {
    return type && (type->dtype == DType::f16 || type->dtype == DType::bf16);
  };
  if (std::ranges::none_of(problem.use.in, is_half)) return check.run(builder, level, pool);
  Problem in_f64 = problem;
  std::vector<Tensor> wide;
  for (const Tensor& operand : operands) {
    wide.push_back(widened(operand));
    if (operand.defined()) in_f64.use.in[wide.size() - 1] = wide.back().type();
  }
  std::optional<GradientCheck> beside;
  try {
    beside.emplace(in_f64, record, seed, std::move(wide));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return skipped(std::string("it has no form in f64: ") + error.what());
  }
  return check.run_beside(*beside, builder, level, pool);
}

}  // namespace halfstep::verify
