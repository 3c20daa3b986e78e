// halfstep/passes/gradient/gradients.cpp: a builder function for each operator with a gradient.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/presence.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

using Kind = Expr::Kind;

bool reads_dtype(const Expr& expr) {
  bool found = false;
  walk(expr, [&](const Expr& part) { found = found || (part.is(Kind::call) && part.text == "dtype"); });
  return found;
}

bool mentions(const Expr& expr, const std::string& name) {
  bool found = false;
  walk(expr, [&](const Expr& part) { found = found || part.is_name(name); });
  return found;
}

class GradientWriter {
 public:
  GradientWriter(const Record& record, const Records& records) : record_(record), records_(records) { find_shared(); }

  std::string write() {
    text_.line("InputGradients {}_gradient(const Request& request) {{", record_.name);
    if (builds()) text_.line("  Builder& builder = request.builder;");
    if (builds()) text_.line("  const ops::{} op(request.op.node());", pascal_case(record_.name));
    if (chooses()) text_.line("  const Attributes& attributes = request.op.attributes();");
    text_.line("  InputGradients gradients(request.wanted.size());");
    for (size_t i = 0; i < record_.outputs.size(); ++i) {
      const std::string name = record_.outputs[i].name + "_grad";
      if (used(name)) text_.line("  const Value {} = request.out_grads[{}];", cpp_name(name), i);
    }
    for (const NamedExpr& gradient : record_.gradient.inputs) write_need(gradient);
    for (const std::string& call : shared_) write_shared(call);
    for (const NamedExpr& gradient : record_.gradient.inputs) write_gradient(gradient);
    text_.line("  return gradients;");
    text_.line("}}");
    return text_.str();
  }

  bool used(const std::string& name) const {
    return std::any_of(record_.gradient.inputs.begin(), record_.gradient.inputs.end(),
                       [&name](const NamedExpr& gradient) { return mentions(gradient.expr, name); });
  }

  /// The outputs whose gradients are read, as bits.
  uint64_t reads() const {
    uint64_t bits = 0;
    for (size_t i = 0; i < record_.outputs.size(); ++i) bits |= uint64_t{used(record_.outputs[i].name + "_grad")} << i;
    return bits;
  }

 private:
  /// Whether any gradient needs a new operation instead of an existing value.
  bool builds() const {
    return std::any_of(record_.gradient.inputs.begin(), record_.gradient.inputs.end(),
                       [](const NamedExpr& gradient) { return !gradient.expr.is(Kind::name); });
  }

  /// Whether any gradient depends on attributes.
  bool chooses() const {
    bool found = false;
    for (const NamedExpr& gradient : record_.gradient.inputs)
      walk(gradient.expr, [&](const Expr& part) { found = found || (part.is(Kind::call) && part.text == "where"); });
    return found;
  }

  size_t port_number(const std::string& name) const {
    return static_cast<size_t>(record_.input(name) - record_.inputs.data());
  }
  bool is_variadic(const NamedExpr& gradient) const { return record_.input(gradient.name)->variadic; }

  /// Finds calls shared by the gradients of several inputs. They are built once, inner ones first.
  void find_shared() {
    std::vector<std::string> order;
    const auto& gradients = record_.gradient.inputs;
    for (auto gradient = gradients.rbegin(); gradient != gradients.rend(); ++gradient) {
      if (!is_variadic(*gradient)) add_calls(gradient->expr, gradient->name, order);
    }
    std::copy_if(order.begin(), order.end(), std::back_inserter(shared_),
                 [this](const std::string& text) { return users_[text].size() > 1; });
    std::map<std::string, int> count;
    for (const std::string& text : shared_) {
      const std::string& op = calls_[text]->text;
      const int number = ++count[op];
      names_[text] = "shared_" + op + (number > 1 ? "_" + std::to_string(number) : "");
    }
  }

  /// Adds the calls in an expression to `order`, each after its arguments.
  void add_calls(const Expr& part, const std::string& input, std::vector<std::string>& order) {
    for (auto arg = part.args.rbegin(); arg != part.args.rend(); ++arg) add_calls(*arg, input, order);
    if (!part.is(Kind::call) || find(records_, part.text) == nullptr) return;
    const std::string text = to_text(part);
    if (users_[text].empty()) order.push_back(text);
    users_[text].insert(input);
    calls_[text] = &part;
  }

  static std::string need_name(const std::string& port) { return "need_" + port; }

  /// The output gradients that an expression reads. `optional` has those that only optional inputs take.
  struct Reads {
    std::set<std::string> required, optional;
  };

  void collect_reads(const Expr& expr, bool optional, Reads& reads) const {
    if (expr.is(Kind::name) && is_output_gradient(expr.text))
      (optional ? reads.optional : reads.required).insert(expr.text);
    const Record* callee = expr.is(Kind::call) ? find(records_, expr.text) : nullptr;
    for (size_t i = 0; i < expr.args.size(); ++i) {
      const Port* taker = callee == nullptr || i >= expr.keywords.size() ? nullptr : callee->input(expr.keywords[i]);
      collect_reads(expr.args[i], taker != nullptr && taker->optional && expr.args[i].is(Kind::name), reads);
    }
  }

  bool is_output_gradient(const std::string& name) const {
    return std::any_of(record_.outputs.begin(), record_.outputs.end(),
                       [&name](const Port& port) { return name == port.name + "_grad"; });
  }

  /// Builds a gradient only if it is wanted and the output gradients that it reads are not zero. Of those that optional
  /// inputs take, one is enough.
  void write_need(const NamedExpr& gradient) {
    Reads reads;
    collect_reads(gradient.expr, false, reads);
    std::string zero;
    for (const std::string& name : reads.required) zero += " && " + cpp_name(name);
    if (reads.required.empty() && !reads.optional.empty()) {
      std::vector<std::string> any;
      for (const std::string& name : reads.optional) any.push_back(cpp_name(name));
      zero = " && " + (any.size() == 1 ? any[0] : "(" + join(any, " || ") + ")");
    }
    const size_t port = port_number(gradient.name);
    const std::string wanted = is_variadic(gradient) ? fmt::format("request.wanted.size() > {}", port)
                                                     : fmt::format("request.wanted[{}]", port);
    text_.line("  const bool {} = {}{};", need_name(gradient.name), wanted, zero);
  }

  void write_shared(const std::string& text) {
    const Expr& call = *calls_[text];
    std::vector<std::string> needs;
    for (const NamedExpr& gradient : record_.gradient.inputs) {
      if (users_[text].contains(gradient.name)) needs.push_back(need_name(gradient.name));
    }
    text_.line("  ops::{} {};", pascal_case(call.text), names_[text]);
    text_.line("  if ({})", join(needs, " || "));
    text_.line("    {} = {};", names_[text], call_cpp(call, ""));
  }

  void write_gradient(const NamedExpr& gradient) {
    const size_t port = port_number(gradient.name);
    if (!is_variadic(gradient)) {
      if (reads_dtype(gradient.expr))
        text_.line("  if ({}) require_floats(op, op.{}(), op.{}());", need_name(gradient.name), cpp_name(gradient.name),
                   cpp_name(record_.outputs[0].name));
      text_.line("  if ({})", need_name(gradient.name));
      text_.line("    gradients[{}] = {};", port, value_cpp(gradient.expr, gradient.name));
      return;
    }
    const std::string first = port == 0 ? "" : std::to_string(port) + " + ";
    text_.line("  for (size_t index = 0; index < op.{}().size(); ++index) {{", cpp_name(gradient.name));
    text_.line("    if ({} && request.wanted[{}index])", need_name(gradient.name), first);
    text_.line("      gradients[{}index] = {};", first, value_cpp(gradient.expr, gradient.name));
    text_.line("  }}");
  }

  /// `input` is the port of the gradient. It determines the name of the outermost operation.
  std::string value_cpp(const Expr& expr, const std::string& input) {
    if (expr.is(Kind::call) && expr.text == "where")
      return fmt::format("({} ? {} : {})", condition_cpp(expr.args[0], record_), value_cpp(expr.args[1], input),
                         value_cpp(expr.args[2], input));
    if (expr.is(Kind::member)) return build_cpp(expr.args[0], input) + "." + cpp_name(expr.text) + "()";
    if (expr.is(Kind::call)) {
      const Record& callee = *find(records_, expr.text);
      return build_cpp(expr, input) + "." + cpp_name(callee.outputs[0].name) + "()";
    }
    const bool is_port = record_.input(expr.text) != nullptr || record_.output(expr.text) != nullptr;
    return is_port ? "op." + cpp_name(expr.text) + "()" : cpp_name(expr.text);
  }

  std::string build_cpp(const Expr& call, const std::string& input) {
    const auto shared = names_.find(to_text(call));
    return shared != names_.end() ? shared->second : call_cpp(call, input);
  }

  /// Designated initializers must follow the order of the operator's ports and attributes.
  std::string call_cpp(const Expr& call, const std::string& input) {
    const Record& callee = *find(records_, call.text);
    std::vector<std::string> args;
    const auto add = [&](const std::string& name, bool is_attribute) {
      const auto found = std::find(call.keywords.begin(), call.keywords.end(), name);
      if (found == call.keywords.end()) return;
      const Expr& value = call.args[static_cast<size_t>(found - call.keywords.begin())];
      args.push_back("." + cpp_name(name) + " = " + (is_attribute ? attribute_value_cpp(value) : value_cpp(value, "")));
    };
    for (const Port& port : callee.inputs) add(port.name, false);
    for (const AttributeSpec& spec : callee.attributes) add(spec.name, true);
    if (!input.empty()) args.push_back(".name = op.name() + \"_grad_" + input + "\"");
    return "ops::" + cpp_name(call.text) + "(builder, {" + join(args, ", ") + "})";
  }

  std::string attribute_value_cpp(const Expr& expr) const {
    switch (expr.kind) {
      case Kind::integer: return std::to_string(expr.integer);
      case Kind::real: return double_cpp(expr.real);
      case Kind::text: return string_literal(expr.text);
      case Kind::name:
        return record_.attribute(expr.text) != nullptr ? "op." + cpp_name(expr.text) + "()"
                                                       : "static_cast<int64_t>(index)";
      case Kind::unary: return "!" + attribute_value_cpp(expr.args[0]);
      case Kind::list: {
        std::vector<std::string> parts;
        for (const Expr& element : expr.args) parts.push_back(attribute_value_cpp(element));
        return "{" + join(parts, ", ") + "}";
      }
      case Kind::call: {
        const std::string port = cpp_name(expr.args[0].text);
        if (expr.text == "rank") return "static_cast<int64_t>(op." + port + "().dims().size())";
        if (expr.text == "dims") return "extents(op, op." + port + "())";
        if (expr.text == "dtype") return "std::string(name(op." + port + "().dtype()))";
        return fmt::format("extent(op, op.{}(), {})", port, expr.args[1].integer);
      }
      default: return expr.text;
    }
  }

  const Record& record_;
  const Records& records_;
  Text text_;
  std::vector<std::string> shared_;
  std::map<std::string, const Expr*> calls_;
  std::map<std::string, std::set<std::string>> users_;
  std::map<std::string, std::string> names_;
};

constexpr const char* kPrologue = R"(#include "halfstep/passes/gradient/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/gradient/errors.h"

namespace halfstep::passes {
namespace {

using InputGradients = std::vector<Value>;

struct Request {
  Builder& builder;
  Op op;
  std::span<const Value> out_grads;
  const std::vector<bool>& wanted;
};

/// An extent that a gradient takes as an attribute. A negative axis counts from the end.
[[maybe_unused]] int64_t extent(Op op, Value value, int64_t axis) {
  const Dims& dims = value.dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t at = axis < 0 ? axis + rank : axis;
  HS_CHECK(at >= 0 && at < rank);
  const int64_t extent = dims[static_cast<size_t>(at)];
  if (extent == kUnknown)
    fail(errors::gradient_extent_unknown(op.where(), op.info().name, axis, value.name()));
  return extent;
}

/// A conversion to or from other numbers than floats has no gradient.
[[maybe_unused]] void require_floats(Op op, Value operand, Value result) {
  if (is_float(operand.dtype()) && is_float(result.dtype())) return;
  fail(errors::operator_without_gradient(op.where(), op.info().name,
      fmt::format(" from {} to {}", name(operand.dtype()), name(result.dtype()))));
}

/// All extents of a value.
[[maybe_unused]] Dims extents(Op op, Value value) {
  Dims dims;
  for (size_t axis = 0; axis < value.dims().size(); ++axis)
    dims.push_back(extent(op, value, static_cast<int64_t>(axis)));
  return dims;
}

)";

constexpr const char* kEpilogue = R"(
const Row* find_row(std::string_view op) {
  const auto found = std::lower_bound(kRows.begin(), kRows.end(), op, [](const Row& row, std::string_view o) { return row.op < o; });
  return found != kRows.end() && found->op == op ? &*found : nullptr;
}

}  // namespace

std::vector<Value> build_gradient(Builder& builder, Op op, std::span<const Value> out_grads, const std::vector<bool>& wanted) {
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return InputGradients(wanted.size());
  const Row* row = find_row(op.info().name);
  const auto none = [&](const std::string& reason) { fail(errors::operator_without_gradient(op.where(), op.info().name, reason)); };
  if (row == nullptr) none("");
  if (row->build == nullptr) none(": " + std::string(row->why_none));
  for (size_t port = 0; row->reads != kAll && port < out_grads.size(); ++port) {
    const auto& output = op.info().outputs[port];
    if (out_grads[port] && output.state_of < 0 && (row->reads >> port & 1) == 0) none(" for its output " + std::string(output.name));
  }
  if (!row->unless.empty() && get<bool>(op.attributes(), row->unless)) none(" when " + std::string(row->unless) + " is true");
  builder.at(op.location());
  return row->build({builder, op, out_grads, wanted});
}

}  // namespace halfstep::passes
)";

}  // namespace

std::string emit_gradients_header() {
  Text text;
  text.add(generated_by("Gradients as the records state them."));
  text.add(R"(#pragma once

#include <span>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::passes {

/// Builds the gradients of the operands of `op` that are `wanted`, by flat position. A null value means none.
/// `out_grads` has one value for each output port. A null value means zero. An operand whose gradient reads it has no
/// gradient.
/// Throws unsupported if a gradient is wanted and the operator has none.
std::vector<Value> build_gradient(Builder& builder, Op op, std::span<const Value> out_grads, const std::vector<bool>& wanted);

}  // namespace halfstep::passes
)");
  return text.str();
}

std::string emit_gradients(const Records& records) {
  Text text;
  text.add(generated_by("Gradients as the records state them."));
  text.add(kPrologue);
  std::vector<std::string> rows;
  for (const Record* record : by_name(records)) {
    const Gradient& gradient = record->gradient;
    if (!gradient.why_none.empty())
      rows.push_back(fmt::format("    {{{}, {{}}, {}, kAll, nullptr}},", string_literal(record->name),
                                 string_literal(gradient.why_none)));
    if (gradient.rule == Gradient::Rule::none) continue;
    GradientWriter writer(*record, records);
    text.add(writer.write());
    text.blank();
    // An approximation need not read every output.
    const std::string reads =
        gradient.rule == Gradient::Rule::derivative ? fmt::format("{:#x}", writer.reads()) : "kAll";
    rows.push_back(fmt::format("    {{{}, {}, {{}}, {}, {}_gradient}},", string_literal(record->name),
                               string_literal(gradient.unless), reads, record->name));
  }
  text.line(
      "constexpr uint64_t kAll = ~uint64_t{{0}};\n"
      "struct Row {{\n  std::string_view op, unless, why_none;\n  uint64_t reads;  ///< outputs whose gradients are "
      "read, as "
      "bits\n  InputGradients (*build)(const Request& request);\n}};");
  text.line("constexpr std::array<Row, {}> kRows = {{{{", rows.size());
  for (const std::string& row : rows) text.line("{}", row);
  text.line("}}}};");
  text.add(kEpilogue);
  return text.str();
}

}  // namespace halfstep::opgen
