// Becomes a `scan` over the first axis, with transposes and reversals around it for other axes and directions. Before
// opset 9 all values have a batch axis, so it is inside a `scan` over the batch.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

class Scan {
 public:
  Scan(Translator& translator, const Node& node)
      : translator_(translator),
        node_(node),
        body_(translator.graph_of(node, "body")),
        has_batches_(node.version() < 9) {
    const size_t values = node.inputs() - (has_batches_ ? 1 : 0);
    scanned_ = static_cast<size_t>(std::max<int64_t>(0, node.integer("num_scan_inputs", 0)));
    if (scanned_ == 0 || scanned_ > values)
      fail(errors::wrong_count(node.where(), "scanned inputs", scanned_, fmt::format("1 to {}", values)));
    states_ = values - scanned_;
    const auto outputs = static_cast<size_t>(body_.output_size());
    if (outputs < states_)
      fail(errors::wrong_count(node.where(), "outputs of its body", outputs, fmt::format("at least {}", states_)));
    stacked_ = outputs - states_;
  }

  void run() {
    std::vector<Operand> values = translator_.inputs(node_);
    if (!has_batches_) return translator_.set_all(node_, scan(values));
    if (values[0].there())
      fail(errors::form_not_supported(node_.where(), "lengths of sequences", "sequences of one length", ""));
    values.erase(values.begin());
    const auto each = [this](const auto& sample) { return scan(sample); };
    translator_.set_all(node_, made(values, 0, each));
  }

 private:
  /// Inserts a `scan` over the first axis of all values except the states, which come first.
  std::vector<Operand> made(const std::vector<Operand>& values, size_t states, const FillRegion& fill) {
    for (size_t i = states; i < values.size(); ++i) {
      if (values[i].dims().empty())
        fail(errors::wrong_extents(node_.where(), fmt::format("input {} without extents", i), "an axis to scan"));
    }
    const auto first_scanned = values.begin() + static_cast<std::ptrdiff_t>(states);
    return translator_.make_loop(node_, {"scan", {}, {values.begin(), first_scanned}, {first_scanned, values.end()}},
                                 &body_, fill);
  }

  /// Takes the states, then the scanned values.
  std::vector<Operand> scan(std::vector<Operand> values) {
    for (size_t i = 0; i < scanned_; ++i) values[states_ + i] = scanned(values[states_ + i], i);
    std::vector<Operand> results =
        made(values, states_, [this](const auto& inner) { return translator_.inline_graph(node_, body_, inner); });
    for (size_t i = 0; i < stacked_; ++i) results[states_ + i] = stacked(results[states_ + i], i);
    return results;
  }

  /// Returns entry `i` of a list with one entry for each scanned value, or 0 if the node has no list.
  int64_t entry(const char* attribute, size_t count, size_t i) const {
    const auto list = node_.integers(attribute);
    if (!list) return 0;
    if (list->size() != count)
      fail(errors::wrong_count(node_.where(), fmt::format("numbers in attribute {}", attribute), list->size(), count));
    return (*list)[i];
  }

  /// Reverses the order of `value` along `axis`.
  Operand reversed(const Operand& value, int64_t axis) {
    return translator_.make_one(node_, "slice", {value},
                                {{"axes", std::vector<int64_t>{axis}},
                                 {"starts", std::vector<int64_t>{-1}},
                                 {"ends", std::vector<int64_t>{std::numeric_limits<int64_t>::min()}},
                                 {"steps", std::vector<int64_t>{-1}}});
  }

  /// Moves the axis `from` of `value` to position `to`.
  Operand moved(const Operand& value, int64_t from, int64_t to) {
    if (from == to) return value;
    std::vector<int64_t> order(value.dims().size());
    std::iota(order.begin(), order.end(), 0);
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, from);
    return translator_.make_one(node_, "transpose", {value}, {{"perm", order}});
  }

  int64_t axis_of(const char* attribute, size_t count, size_t i, const Operand& value) const {
    const auto rank = static_cast<int64_t>(value.dims().size());
    int64_t axis = entry(attribute, count, i);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank)
      fail(errors::axis_out_of_range(node_.where(), axis, fmt::format("{} for {} extents", attribute, rank)));
    return axis;
  }

  Operand scanned(const Operand& value, size_t i) {
    const Operand first = moved(value, axis_of("scan_input_axes", scanned_, i, value), 0);
    const char* const directions = has_batches_ ? "directions" : "scan_input_directions";
    return entry(directions, scanned_, i) == 0 ? first : reversed(first, 0);
  }

  Operand stacked(const Operand& value, size_t i) {
    const Operand ordered = entry("scan_output_directions", stacked_, i) == 0 ? value : reversed(value, 0);
    return moved(ordered, 0, axis_of("scan_output_axes", stacked_, i, ordered));
  }

  Translator& translator_;
  const Node& node_;
  const proto::Graph& body_;
  bool has_batches_;
  size_t scanned_ = 0, states_ = 0, stacked_ = 0;
};

}  // namespace

void translate_Scan(Translator& translator, const Node& node) { Scan(translator, node).run(); }

}  // namespace halfstep::formats::onnx
