#include "halfstep/verify/operators/golden.h"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "halfstep/core/base/element_values.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/verify/operators/compare_tensors.h"
#include "halfstep/verify/operators/deliberate.h"
#include "halfstep/verify/operators/errors.h"
#include "halfstep/verify/operators/golden_form.h"
#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {
namespace {

/// Tolerance of a float32 sum in an unknown order, relative to the sum of the magnitudes of its terms.
constexpr double kSumTolerance = 1e-5;

int64_t differing_bits(const Tensor& a, const Tensor& b) {
  int64_t bits = 0;
  const auto width = static_cast<int64_t>(size_of(a.dtype()));
  for (int64_t i = 0; i < a.size(); ++i) {
    if (std::isnan(element(a, i)) && std::isnan(element(b, i))) continue;
    for (int64_t byte = i * width; byte < (i + 1) * width; ++byte)
      bits += std::popcount(std::to_integer<unsigned>(a.raw()[byte] ^ b.raw()[byte]));
  }
  return bits;
}

/// Differences of a case, empty if everything agrees, and counts of compared elements and differing bits.
struct Comparison {
  std::string what;
  int64_t elements = 0, bits = 0;
};

/// One case, compiled with its gradient.
class GoldenRun {
 public:
  GoldenRun(const GoldenForm& form, const GradientBuilder& builder, ThreadPool& pool)
      : form_(form), pool_(pool), single_(make_single(form.problem, form.operands, OperandSource::arguments)) {
    if (!form.gradients.empty()) add_gradients(builder);
    CompileOptions options;
    options.optimize = false;
    program_.emplace(compile(single_.model, options));
    found_ = program_->run(single_.inputs, pool_);
  }

  Comparison compare(std::optional<double> tolerance) {
    for (const GoldenForm::Expected& expected : form_.results) {
      const std::string& port = form_.problem.info->outputs[static_cast<size_t>(expected.port)].name;
      const auto found = found_.find(port);
      if (!expected.result.defined() || found == found_.end()) {
        if (expected.result.defined() != (found != found_.end()))
          note(port, found == found_.end() ? "is not produced" : "is produced, expected none");
        continue;
      }
      hold(port, found->second, expected.result, tolerance);
    }
    for (const GoldenForm::Gradient& expected : form_.gradients) hold_gradient(expected);
    if (form_.dequantized.defined()) hold("dequantized", dequantized(), form_.dequantized, std::nullopt);
    return std::move(comparison_);
  }

 private:
  static std::string gradient_name(size_t operand) { return fmt::format("gradient {}", operand); }

  void add_gradients(const GradientBuilder& builder) {
    Graph& graph = single_.model.graph;
    const Value out = single_.op.results().front();
    std::vector<Value> out_grads(form_.problem.info->outputs.size());
    out_grad_name_ = graph.unique_name("out_grad");
    out_grads[static_cast<size_t>(out.port())] = graph.add_argument(out_grad_name_, form_.out_grad.type());
    single_.inputs[out_grad_name_] = form_.out_grad;
    std::vector<bool> wanted(form_.operands.size());
    for (const GoldenForm::Gradient& gradient : form_.gradients) wanted[gradient.operand] = true;
    Builder at_end(graph);
    const std::vector<Value> gradients = builder(at_end, single_.op, out_grads, wanted);
    std::vector<Value> values = single_.op.results();
    std::vector<std::string> names;
    for (const Value value : values)
      names.push_back(form_.problem.info->outputs[static_cast<size_t>(value.port())].name);
    for (const GoldenForm::Gradient& gradient : form_.gradients) {
      if (!gradients[gradient.operand]) continue;
      values.push_back(gradients[gradient.operand]);
      names.push_back(gradient_name(gradient.operand));
    }
    graph.set_outputs(std::move(values), std::move(names));
  }

  void note(const std::string& what, const std::string& how) {
    comparison_.what += fmt::format("{}{} {}", comparison_.what.empty() ? "" : "; ", what, how);
  }

  void hold(const std::string& name, const Tensor& found, const Tensor& expected, std::optional<double> tolerance) {
    comparison_.elements += expected.size();
    const Tensor shaped = found.size() == 1 && expected.size() == 1 ? found.reshaped(expected.dims()) : found;
    const std::string text = difference(shaped, expected, tolerance);
    if (text.empty()) return;
    note(name + ":", text);
    if (shaped.type() == expected.type()) comparison_.bits += differing_bits(shaped, expected);
  }

  void hold_gradient(const GoldenForm::Gradient& expected) {
    const std::string name = gradient_name(expected.operand);
    const auto found = found_.find(name);
    if (found == found_.end()) return note(name, "is not produced");
    const bool same = difference(found->second, expected.result, std::nullopt).empty();
    const bool is_sum = expected.result.size() < form_.out_grad.size();
    if (!same && is_sum && found->second.type() == expected.result.type() &&
        within_sum(name, found->second, expected.result)) {
      comparison_.elements += expected.result.size();
      return;
    }
    hold("gradient of " + form_.problem.info->inputs[expected.operand].name, found->second, expected.result,
         std::nullopt);
  }

  /// A gradient is linear in out_grad, so each term of the sum comes from one element of out_grad.
  bool within_sum(const std::string& name, const Tensor& found, const Tensor& expected) {
    std::vector<double> magnitudes(static_cast<size_t>(expected.size()));
    Tensor one(form_.out_grad.dtype(), form_.out_grad.dims());
    std::map<std::string, Tensor> inputs = single_.inputs;
    inputs[out_grad_name_] = one;
    for (int64_t i = 0; i < one.size(); ++i) {
      set_element(one, i, element(form_.out_grad, i));
      const Tensor terms = program_->run(inputs, pool_).at(name);
      for (int64_t j = 0; j < terms.size(); ++j) {
        const double term = std::fabs(element(terms, j));
        if (std::isfinite(term)) magnitudes[static_cast<size_t>(j)] += term;
      }
      set_element(one, i, 0.0);
    }
    for (int64_t j = 0; j < expected.size(); ++j) {
      const double a = element(found, j);
      const double b = element(expected, j);
      if (std::isnan(a) && std::isnan(b)) continue;
      if (!(a == b || std::fabs(a - b) <= kSumTolerance * magnitudes[static_cast<size_t>(j)])) return false;
    }
    return true;
  }

  /// Applies the inverse operator to the codes, with the quantizer's other operands and the common attributes.
  Tensor dequantized() {
    Problem problem{form_.inverse, {}};
    std::vector<Tensor> operands = form_.operands;
    operands.front() = found_.at(form_.problem.info->outputs.front().name);
    for (const Tensor& operand : operands)
      problem.use.in.push_back(operand.defined() ? std::optional(operand.type()) : std::nullopt);
    for (const AttributeInfo& attribute : form_.inverse->attributes) {
      const auto given = form_.problem.use.attributes.find(attribute.name);
      if (given != form_.problem.use.attributes.end()) problem.use.attributes.insert(*given);
    }
    return execute(make_single(problem, operands, OperandSource::arguments), cpu_level(), {}, pool_).front();
  }

  const GoldenForm& form_;
  ThreadPool& pool_;
  Single single_;
  std::string out_grad_name_;
  std::optional<runtime::Program> program_;
  std::map<std::string, Tensor> found_;
  Comparison comparison_;
};

class Golden {
 public:
  explicit Golden(const GoldenOptions& options)
      : options_(options), name_(options.file.filename().string()), pool_(options.threads) {}

  GoldenReport run() {
    const std::vector<GoldenCase> cases = read_golden(options_.file);
    for (const GoldenCase& one : cases) operator_of(one, where(one));
    for (size_t i = 0; i < cases.size(); ++i) {
      if (fnmatch(options_.operators.c_str(), cases[i].op.c_str(), 0) != 0) continue;
      if (options_.progress)
        options_.progress({"golden", static_cast<double>(i), static_cast<double>(cases.size()), cases[i].op});
      run_case(cases[i]);
    }
    if (report_.rows.empty()) fail(errors::golden_case_missing(name_, options_.operators));
    return std::move(report_);
  }

 private:
  std::string where(const GoldenCase& one) const { return fmt::format("{}: case '{}'", name_, one.id); }

  GoldenRow& row_of(const std::string& op) {
    const auto found =
        std::find_if(report_.rows.begin(), report_.rows.end(), [&](const GoldenRow& r) { return r.op == op; });
    return found != report_.rows.end() ? *found : report_.rows.emplace_back(GoldenRow{op});
  }

  void run_case(const GoldenCase& one) {
    GoldenRow& row = row_of(one.op);
    ++row.cases;
    row.errors_expected += one.error.has_value();
    Comparison comparison;
    const std::optional<GoldenForm> form = formed(one, comparison);
    if (form && compare(one, *form, comparison)) {
      ++row.errors_met;
      return;
    }
    row.elements += comparison.elements;
    if (!comparison.what.empty()) count_difference(row, one, comparison);
  }

  /// Whether the case failed as in the original.
  bool compare(const GoldenCase& one, const GoldenForm& form, Comparison& comparison) {
    try {
      comparison = GoldenRun(form, options_.gradient, pool_).compare(op_test(form.problem.info->name).tolerance);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      comparison.what = error.what();
      return one.error && error.kind() != ErrorKind::internal;
    }
    if (one.error) comparison.what = fmt::format("returns a result, but the original fails: {}", *one.error);
    return false;
  }

  void count_difference(GoldenRow& row, const GoldenCase& one, const Comparison& comparison) {
    if (const auto reason = deliberate_difference(one.id)) {
      ++row.deliberate;
      ++report_.deliberate[*reason];
      return;
    }
    ++row.failed;
    row.differing_bits += comparison.bits;
    report_.failures.push_back({one.id, comparison.what});
  }

  /// A case that our operator cannot express is a difference. It never counts as the error of the original.
  std::optional<GoldenForm> formed(const GoldenCase& one, Comparison& comparison) const {
    try {
      return form_of(one, where(one));
    } catch (const Error& error) {
      comparison.what = error.what();
      return std::nullopt;
    }
  }

  const GoldenOptions& options_;
  std::string name_;
  ThreadPool pool_;
  GoldenReport report_;
};

}  // namespace

GoldenReport run_golden(const GoldenOptions& options) { return Golden(options).run(); }

}  // namespace halfstep::verify
