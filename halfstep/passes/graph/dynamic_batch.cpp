#include "halfstep/passes/graph/dynamic_batch.h"

#include <algorithm>
#include <map>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {
namespace {

/// Placeholder for a dynamic batch during shape inference: an axis contains the batch if its extent is a multiple of
/// this.
constexpr int64_t kMany = 1'000'003;

/// The axis of a value that contains the batch, and the product of the extents before the samples that were merged into
/// it. Example: `before` is 6 in [6 * batch, 96] that was [6, batch, 96].
struct Place {
  size_t axis = 0;
  int64_t before = 1;
};

int64_t product(const Dims& dims, size_t begin, size_t end) {
  return count_elements(std::span(dims).subspan(begin, end - begin));
}

bool is_known(const Dims& dims) { return std::ranges::find(dims, kUnknown) == dims.end(); }

/// Returns the possible places of the batch in these extents, where `before` elements precede each sample. An axis of
/// the batch alone comes first. Otherwise these are the axes that contain it, which can be several with a batch of 1.
std::vector<Place> places_in(const Dims& dims, int64_t before, int64_t batch) {
  const int64_t behind = count_elements(dims) / (before * batch);
  std::vector<Place> found;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t outer = product(dims, 0, axis), inner = product(dims, axis + 1, dims.size());
    if (outer == before && inner == behind) return {{axis, 1}};
    if (before % outer == 0 && behind % inner == 0) found.push_back({axis, before / outer});
  }
  return found;
}

/// Enumerates combinations of choices. `of` picks one of several alternatives. After `next`, calls in the same order
/// repeat all choices but the last that has an alternative left.
class Choices {
 public:
  template <class T>
  const T& of(const std::vector<T>& several) {
    if (at_ == made_.size()) made_.push_back({0, several.size()});
    return several[made_[at_++].chosen];
  }

  bool next() {
    at_ = 0;
    while (!made_.empty() && made_.back().chosen + 1 == made_.back().count) made_.pop_back();
    if (!made_.empty()) ++made_.back().chosen;
    return !made_.empty();
  }

 private:
  struct Choice {
    size_t chosen, count;
  };
  std::vector<Choice> made_;
  size_t at_ = 0;
};

/// Records in a prepared network which operators run in float.
void set_in_float(Model& model, const Op& op, bool is_in_float) {
  FloatOperators& all = model.metadata.float_operators;
  if (is_in_float)
    all.emplace(op.name(), "it repeats stored values for each sample");
  else
    all.erase(op.name());
}

class Opening {
 public:
  Opening(const Model& fixed, Choices& choices)
      : fixed_(fixed),
        opened_(fixed),
        choices_(choices),
        batch_(fixed.graph.arguments().front().dims()[0]),
        is_prepared_(!fixed.graph.all<ops::FakeQuantize>().empty()) {}

  std::optional<Model> run() {
    set_batch(kMany);
    for (const Value argument : opened_.graph.arguments()) places_[argument.node()] = {};
    for (const Op op : opened_.graph.ops()) {
      if (!open(op)) return std::nullopt;
    }
    for (const Value output : opened_.graph.outputs()) {
      if (place_of(output) == nullptr) return std::nullopt;
    }
    set_batch(kUnknown);
    for (const Op op : opened_.graph.ops()) op.infer();
    return std::move(opened_);
  }

 private:
  void set_batch(int64_t batch) {
    for (const Value argument : opened_.graph.arguments()) {
      Dims dims = argument.dims();
      dims[0] = batch;
      opened_.graph.set_type(argument, {argument.dtype(), dims});
    }
  }

  const Place* place_of(Value value) const {
    const auto found = places_.find(value.node());
    return found == places_.end() ? nullptr : &found->second;
  }

  bool open(Op op) {
    const std::vector<Value> operands = op.operands();
    const auto first = std::ranges::find_if(operands, [&](Value one) { return one && place_of(one) != nullptr; });
    if (first == operands.end()) {
      op.infer();
      return true;
    }
    const Place from = *place_of(*first);
    const auto to = op.is<ops::Reshape>() ? reshaped(ops::Reshape(op.node()), from) : std::optional(from);
    if (!to) return false;
    if (op.is<ops::Expand>()) free_extent(ops::Expand(op.node()), from.axis);
    if (op.is<ops::Resize>()) free_extent(ops::Resize(op.node()), from.axis);
    if (follows(op, to->before)) return true;
    repeat_stored(op, *first, from.axis);
    return follows(op, to->before);
  }

  /// Whether every result contains the batch in exactly one axis.
  bool follows(Op op, int64_t before) {
    try {
      op.infer();
    } catch (const Error&) {
      return false;
    }
    if (op.is<ops::Positions>() && op.out(0).dims()[0] != kMany) return true;  // positions along another axis
    for (const Value result : op.results()) {
      if (op.info().outputs[static_cast<size_t>(result.port())].state_of >= 0) continue;
      const Dims& dims = result.dims();
      const auto has_batch = [](int64_t extent) { return extent != 0 && extent % kMany == 0; };
      if (std::ranges::count_if(dims, has_batch) != 1) return false;
      places_[result.node()] = {static_cast<size_t>(std::ranges::find_if(dims, has_batch) - dims.begin()), before};
    }
    return true;
  }

  /// Lets the reshape infer the axis with the batch instead of naming its extent.
  std::optional<Place> reshaped(const ops::Reshape& op, Place from) {
    const Dims &in = fixed_.graph.value(op.x().name()).dims(), &out = fixed_.graph.value(op.out().name()).dims();
    if (!is_known(in) || !is_known(out) || count_elements(in) == 0) return kept(op, from);
    const std::vector<Place> all = places_in(out, product(in, 0, from.axis) * from.before, batch_);
    if (all.empty()) return std::nullopt;
    const Place to = choices_.of(all);
    Dims dims = out;
    dims[to.axis] = -1;
    op.set_attributes({{"dims", dims}});
    return to;
  }

  /// Keeps the batch of a reshape with other dynamic dimensions.
  std::optional<Place> kept(const ops::Reshape& op, Place from) {
    Dims dims = op.dims();
    if (from.axis != 0 || from.before != 1 || dims.empty()) return std::nullopt;
    if (dims[0] == batch_) dims[0] = 0;
    if (dims[0] != 0) return std::nullopt;
    op.set_attributes({{"dims", dims}});
    return from;
  }

  static void free_extent(const ops::Expand& op, size_t axis) {
    Dims dims = op.dims();
    const size_t rank = op.x().dims().size();
    if (axis + dims.size() < rank) return;
    dims[axis + dims.size() - rank] = 1;
    op.set_attributes({{"dims", dims}});
  }

  /// Keeps only the sizes of other axes.
  static void free_extent(const ops::Resize& op, size_t axis) {
    const auto rank = static_cast<int64_t>(op.x().dims().size());
    Dims axes, sizes;
    for (size_t i = 0; i < op.sizes().size(); ++i) {
      const int64_t at = op.axes().empty() ? static_cast<int64_t>(i) : op.axes()[i];
      if ((at < 0 ? at + rank : at) == static_cast<int64_t>(axis)) continue;
      axes.push_back(at);
      sizes.push_back(op.sizes()[i]);
    }
    if (sizes.size() < op.sizes().size()) op.set_attributes({{"axes", axes}, {"sizes", sizes}});
  }

  /// Repeats operands for each sample if they depend on no sample and have the extent of the batch along its axis.
  void repeat_stored(Op op, Value samples, size_t axis) {
    const std::vector<Value> operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Value one = operands[i];
      if (!one || place_of(one) != nullptr || one.dims().size() <= axis || one.dims()[axis] != batch_) continue;
      Builder builder = Builder::before(opened_.graph, op);
      const auto along = static_cast<int64_t>(axis);
      const auto first = ops::positions(builder, {.like = samples, .axis = along, .step = 0});
      const auto repeated = ops::gather(builder, {.x = one, .indices = first.out(), .axis = along});
      if (is_prepared_) set_in_float(opened_, first, true);
      if (is_prepared_ && !one.producer<ops::FakeQuantize>()) set_in_float(opened_, repeated, true);
      places_[repeated.out().node()] = {axis, 1};
      op.set_operand(static_cast<int>(i), repeated.out());
    }
  }

  const Model& fixed_;
  Model opened_;
  Choices& choices_;
  int64_t batch_;
  bool is_prepared_;
  std::map<const detail::ValueNode*, Place> places_;
};

bool may_open(const Graph& graph) {
  const auto& arguments = graph.arguments();
  return !arguments.empty() && std::ranges::all_of(arguments, [&](Value argument) {
    const Dims &dims = argument.dims(), &first = arguments.front().dims();
    return !dims.empty() && !first.empty() && dims[0] > 0 && dims[0] == first[0];
  });
}

}  // namespace

bool has_dynamic_batch(const Model& model) {
  return std::ranges::any_of(model.graph.arguments(),
                             [](Value argument) { return !argument.dims().empty() && argument.dims()[0] == kUnknown; });
}

std::optional<Model> dynamic_batch(const Model& model) {
  constexpr int kTries = 100;
  if (!may_open(model.graph)) return std::nullopt;
  Choices choices;
  for (int i = 0; i < kTries; ++i) {
    try {
      if (auto opened = Opening(model, choices).run()) return opened;
    } catch (const Error&) {
      // an operator rejects these extents
    }
    if (!choices.next()) break;
  }
  return std::nullopt;
}

Model close_batch(Model opened, const Model& fixed) {
  if (has_dynamic_batch(fixed) || !has_dynamic_batch(opened)) return opened;
  Graph& graph = opened.graph;
  for (const Value argument : graph.arguments()) graph.set_type(argument, fixed.graph.value(argument.name()).type());
  for (const Op op : graph.ops()) op.infer();
  for (const Op op : graph.ops()) {
    const Op before = fixed.graph.op(op.name());
    if (op.is<ops::Reshape, ops::Expand, ops::Resize>() && before) op.set_attributes(before.attributes());
    const Op places = op.is<ops::Gather>() ? op.in(1).producer() : Op();
    if (before || !places.is<ops::Positions>()) continue;
    op.out(0).replace_all_uses_with(op.in(0));
    for (const Op added : {op, places}) {
      set_in_float(opened, added, false);
      graph.erase(added);
    }
  }
  return opened;
}

}  // namespace halfstep::passes
