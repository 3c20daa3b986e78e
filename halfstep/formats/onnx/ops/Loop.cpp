// Its iterations, one after the other, in its place: the number of iterations and the conditions are computed.
#include <algorithm>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

constexpr int64_t kMaxIterations = 1'000'000;

Operand scalar(int64_t value) { return Translator::known(Tensor::of<int64_t>(DType::i64, {}, {&value, 1})); }

Operand condition_of(bool value) { return Translator::known(Tensor::of<bool>(DType::boolean, {}, {&value, 1})); }

bool is_true(Translator& translator, const Node& node, const Operand& condition) {
  const auto values = translator.integers(node, condition);
  if (values.size() != 1) fail("{}: found a condition of {} elements", node.where(), values.size());
  return values[0] != 0;
}

class Loop {
 public:
  Loop(Translator& translator, const Node& node)
      : translator_(translator), node_(node), body_(translator.graph_of(node, "body")) {
    for (size_t i = 2; i < node.inputs(); ++i) carried_.push_back(translator.in(node, i));
    const auto outputs = static_cast<size_t>(body_.output_size());
    if (outputs < carried_.size() + 1)
      fail("{}: its body has {} outputs, expected at least {}", node.where(), outputs, carried_.size() + 1);
    scans_.resize(outputs - carried_.size() - 1);
  }

  void run() {
    const int64_t trips = trip_count();
    bool goes_on = !node_.has_input(1) || is_true(translator_, node_, translator_.in(node_, 1));
    for (int64_t i = 0; i < trips && goes_on; ++i) {
      if (i == kMaxIterations)
        Translator::refuse(node_, fmt::format("more than {} iterations are not supported", kMaxIterations));
      goes_on = iterate(i);
    }
    std::vector<Operand> results = carried_;
    for (size_t i = 0; i < scans_.size(); ++i) results.push_back(joined(i));
    translator_.set_all(node_, results);
  }

  /// For a survey: the operators of the body.
  void look_inside() {
    std::vector<Operand> arguments = {Translator::lost(), Translator::lost()};
    arguments.insert(arguments.end(), carried_.begin(), carried_.end());
    translator_.inline_graph(node_, body_, arguments);
  }

 private:
  int64_t trip_count() {
    if (!node_.has_input(0)) return INT64_MAX;
    const auto trips = translator_.integers(node_, translator_.in(node_, 0));
    if (trips.size() != 1) fail("{}: found {} trip counts, expected one", node_.where(), trips.size());
    return trips[0];
  }

  bool iterate(int64_t number) {
    std::vector<Operand> arguments = {scalar(number), condition_of(true)};
    arguments.insert(arguments.end(), carried_.begin(), carried_.end());
    const std::vector<Operand> results = translator_.inline_graph(node_, body_, arguments);
    if (std::any_of(results.begin(), results.end(), [](const Operand& r) { return r.lost; }))
      throw NeedsValues("it depends on what is not supported");
    std::copy_n(results.begin() + 1, carried_.size(), carried_.begin());
    for (size_t i = 0; i < scans_.size(); ++i) scans_[i].push_back(row(results[1 + carried_.size() + i]));
    return !node_.has_input(1) || is_true(translator_, node_, results[0]);
  }

  /// With an axis in front.
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

  /// No iterations: as the body declares it.
  Operand nothing(size_t scan) {
    const auto& type = body_.output(static_cast<int>(1 + carried_.size() + scan)).type().tensor_type();
    Dims dims = {0};
    for (const auto& dim : type.shape().dim()) dims.push_back(dim.dim_value());
    const auto dtype = find_dtype(type.elem_type());
    if (!dtype) Translator::refuse(node_, "a scan output without iterations and without a type is not supported");
    return Translator::known(Tensor(*dtype, dims));
  }

  Translator& translator_;
  const Node& node_;
  const proto::Graph& body_;
  std::vector<Operand> carried_;
  std::vector<std::vector<Operand>> scans_;
};

}  // namespace

void translate_Loop(Translator& translator, const Node& node) {
  Loop loop(translator, node);
  try {
    loop.run();
  } catch (const NeedsValues& error) {
    if (!translator.surveys()) throw;
    translator.note(node, error);
    loop.look_inside();
    translator.lose(node);
  }
}

}  // namespace halfstep::formats::onnx
