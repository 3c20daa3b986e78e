// Unrolls all iterations if their number and the conditions are known. Otherwise it becomes a `while` whose states are
// the iteration number and the carried values. If that is not possible, unrolls the iterations of the given inputs.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

constexpr int64_t kMaxIterations = 4'096;

Operand scalar(int64_t value) { return Translator::known(Tensor::of<int64_t>(DType::i64, {}, {&value, 1})); }

Operand condition_of(bool value) { return Translator::known(Tensor::of<bool>(DType::boolean, {}, {&value, 1})); }

class Loop {
 public:
  /// `with_inputs`: given inputs determine the number of iterations.
  Loop(Translator& translator, const Node& node, bool with_inputs)
      : translator_(translator), node_(node), body_(translator.graph_of(node, "body")), with_inputs_(with_inputs) {
    for (size_t i = 2; i < node.inputs(); ++i) carried_.push_back(translator.in(node, i));
    const auto outputs = static_cast<size_t>(body_.output_size());
    if (outputs < carried_.size() + 1)
      fail(errors::wrong_count(node.where(), "outputs of its body", outputs,
                               fmt::format("at least {}", carried_.size() + 1)));
    scans_.resize(outputs - carried_.size() - 1);
  }

  void run() {
    const int64_t trips = trip_count();
    bool goes_on = !node_.has_input(1) || is_true(translator_.in(node_, 1));
    for (int64_t i = 0; i < trips && goes_on; ++i) {
      if (i == kMaxIterations) fail(errors::too_many_iterations(node_.where(), kMaxIterations));
      goes_on = iterate(i);
    }
    std::vector<Operand> results = carried_;
    for (size_t i = 0; i < scans_.size(); ++i) results.push_back(joined(i));
    translator_.set_all(node_, results);
  }

  void make_while() {
    std::vector<Operand> states = {scalar(0)};
    for (size_t i = 2; i < node_.inputs(); ++i) states.push_back(translator_.in(node_, i));
    std::vector<Operand> results = translator_.make_loop(node_, {"while", {first_condition()}, states, {}}, &body_,
                                                         [this](const auto& values) { return iteration(values); });
    results.erase(results.begin());
    translator_.set_all(node_, results);
  }

 private:
  int64_t trip_count() {
    return node_.has_input(0) ? translator_.decision(node_, translator_.in(node_, 0), with_inputs_) : INT64_MAX;
  }

  bool is_true(const Operand& condition) { return translator_.decision(node_, condition, with_inputs_) != 0; }

  bool iterate(int64_t number) {
    std::vector<Operand> arguments = {scalar(number), condition_of(true)};
    arguments.insert(arguments.end(), carried_.begin(), carried_.end());
    const std::vector<Operand> results = translator_.inline_graph(node_, body_, arguments);
    if (std::any_of(results.begin(), results.end(), [](const Operand& r) { return r.lost; }))
      fail(errors::depends_on_unsupported());
    std::copy_n(results.begin() + 1, carried_.size(), carried_.begin());
    for (size_t i = 0; i < scans_.size(); ++i) scans_[i].push_back(row(results[1 + carried_.size() + i]));
    return !node_.has_input(1) || is_true(results[0]);
  }

  /// Returns a value with one element as a scalar.
  Operand as_scalar(const Operand& operand) {
    const Type type = operand.type();
    if (type.is_static() && count_elements(type.dims) != 1)
      fail(errors::input_not_one_element(node_.where(), to_string(type) + " as a condition or a count"));
    return translator_.reshaped(node_, operand, {});
  }

  Operand both(const std::vector<Operand>& conditions) {
    if (conditions.size() == 2) return translator_.make_one(node_, "logical_and", conditions);
    return conditions.empty() ? condition_of(true) : conditions[0];
  }

  /// Whether iteration `number` is below the trip count.
  Operand below_count(const Operand& number) {
    return translator_.make_one(node_, "less", {number, as_scalar(translator_.in(node_, 0))});
  }

  Operand first_condition() {
    std::vector<Operand> conditions;
    if (node_.has_input(0)) conditions.push_back(below_count(scalar(0)));
    if (node_.has_input(1)) conditions.push_back(as_scalar(translator_.in(node_, 1)));
    return both(conditions);
  }

  /// Takes the iteration number and the carried values. Returns the next condition, the next number, and the results of
  /// the body.
  std::vector<Operand> iteration(const std::vector<Operand>& values) {
    std::vector<Operand> arguments = {values[0], condition_of(true)};
    arguments.insert(arguments.end(), values.begin() + 1, values.end());
    const std::vector<Operand> given = translator_.inline_graph(node_, body_, arguments);
    const Operand next = translator_.make_one(node_, "add", {values[0], scalar(1)});
    std::vector<Operand> conditions;
    if (node_.has_input(0)) conditions.push_back(below_count(next));
    if (node_.has_input(1)) conditions.push_back(as_scalar(given[0]));
    std::vector<Operand> results = {both(conditions), next};
    results.insert(results.end(), given.begin() + 1, given.end());
    return results;
  }

  /// Adds a leading axis.
  Operand row(const Operand& value) {
    Dims dims = value.dims();
    dims.insert(dims.begin(), 1);
    return translator_.reshaped(node_, value, dims);
  }

  Operand joined(size_t scan) {
    if (scans_[scan].empty()) return nothing(scan);
    if (scans_[scan].size() == 1) return scans_[scan][0];
    return translator_.make_one(node_, "concat", scans_[scan], {{"axis", int64_t{0}}});
  }

  /// Returns the scan output for no iterations, with the type that the body declares.
  Operand nothing(size_t scan) {
    const auto& type = body_.output(static_cast<int>(1 + carried_.size() + scan)).type().tensor_type();
    Dims dims = {0};
    for (const auto& dim : type.shape().dim()) dims.push_back(dim.dim_value());
    const auto dtype = find_dtype(type.elem_type());
    if (!dtype)
      fail(errors::form_not_supported(node_.where(), "a scan output without iterations and without a type", "a type",
                                      ""));
    return Translator::known(Tensor(*dtype, dims));
  }

  Translator& translator_;
  const Node& node_;
  const proto::Graph& body_;
  bool with_inputs_;
  std::vector<Operand> carried_;
  std::vector<std::vector<Operand>> scans_;
};

}  // namespace

void translate_Loop(Translator& translator, const Node& node) {
  const proto::Graph& body = translator.graph_of(node, "body");
  if (translator.tried_inside(&body, [&] { Loop(translator, node, false).run(); })) return;
  translator.regions_or([&] { Loop(translator, node, false).make_while(); },
                        [&] { Loop(translator, node, true).run(); });
}

}  // namespace halfstep::formats::onnx
