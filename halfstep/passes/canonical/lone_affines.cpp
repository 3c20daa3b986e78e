#include "halfstep/passes/canonical/lone_affines.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/layer_tail.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/stored_numbers.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

/// The input of a part, and the axis along which its numbers differ. `axis` is empty for one number.
struct Reading {
  Value y;
  std::optional<size_t> axis;
};

/// Returns the only axis along which `numbers` differ, as an axis of y. Returns the rank of y for one number.
std::optional<size_t> axis_of(const Dims& numbers, const Dims& y) {
  size_t axis = y.size();
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 1) continue;
    if (axis != y.size() || numbers.size() > y.size()) return std::nullopt;
    axis = i + y.size() - numbers.size();
  }
  return axis;
}

/// Returns nothing if the extents show that `op` is not part of a chain.
std::optional<Reading> reading(const Model& model, Op op) {
  if (op.is<ops::BatchNorm>()) return Reading{op.in(0), 1};
  if (op.is<ops::Neg>()) return Reading{op.in(0), std::nullopt};
  if (!op.is<ops::Add, ops::Sub, ops::Mul, ops::Div>()) return std::nullopt;
  for (const int port : {1, 0}) {
    const auto stored = stored_numbers(model, op.in(port));
    if (!stored) continue;
    const Value y = op.in(1 - port);
    const auto axis = axis_of(stored->dims, y.dims());
    if (!axis) return std::nullopt;
    return Reading{y, *axis == y.dims().size() ? std::nullopt : axis};
  }
  return std::nullopt;
}

/// Returns the channel axis of a chain that begins with `op`: the axis of its first part whose numbers differ along
/// one.
std::optional<size_t> channel_axis(const Model& model, Op op) {
  for (auto part = reading(model, op); part; part = op ? reading(model, op) : std::nullopt) {
    if (part->axis) return part->axis;
    op = only_reader(op.out(0));
  }
  return std::nullopt;
}

/// Extents of a reshape.
using Extents = std::vector<int64_t>;

/// Reshapes to [n, c, h, w] and back. Empty if the value already has these extents.
struct Forms {
  Extents image, back;
  int open_axis = -1;  ///< second extent that is known only at run time
};

std::optional<Forms> forms_of(const Dims& dims, size_t axis) {
  const size_t rank = dims.size();
  const int64_t channels = dims[axis];
  if (std::ranges::find(dims, 0) != dims.end()) return std::nullopt;  // not an image, and not an extent of a reshape
  if (axis == 1 && rank == 4) return Forms{};
  if (axis == 1 && rank < 4) {
    Forms forms{{0, 0, 1, 1}, {0, 0}};
    if (rank == 3) forms = {{0, 0, 0, 1}, {0, 0, 0}};
    return forms;
  }
  if (axis + 1 != rank || rank < 3) return std::nullopt;
  Forms forms{{-1, channels, 1, 1}, {dims.begin(), dims.end()}};
  bool is_open = false;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] != kUnknown) continue;
    if (forms.open_axis >= 0) return std::nullopt;
    if (is_open) forms.open_axis = static_cast<int>(i);
    forms.back[i] = is_open ? 0 : -1;
    is_open = true;
  }
  return forms;
}

class LoneAffines {
 public:
  LoneAffines(Model& model, const std::function<bool(Op layer)>& takes) : model_(model), takes_(takes) {}

  std::vector<FoldedTail> run() {
    std::vector<std::vector<Op>> layers;
    for (const Op op : model_.graph.ops()) {
      if (parts_.contains(op.node()) || op.results().size() != 1) continue;
      std::vector<Op> layer = layer_for(op);
      if (!layer.empty()) layers.push_back(std::move(layer));
    }
    std::vector<FoldedTail> folded;
    for (const std::vector<Op>& layer : layers) {
      folded.push_back(*fold_tail(model_, convolution_of(layer), LayerName::of_tail));
      note_names(layer, folded.back().result);
    }
    return folded;
  }

 private:
  static Op convolution_of(const std::vector<Op>& layer) { return layer[layer.size() == 1 ? 0 : 1]; }

  /// Makes the name of the chain's last part refer to all operators of the layer.
  void note_names(const std::vector<Op>& layer, const std::string& result) {
    const std::string given = given_name(model_.metadata.given_names, result);
    for (const Op op : layer) {
      if (op.name() != result) add_given_name(model_.metadata.given_names, op.name(), given);
    }
  }

  /// Inserts an identity layer before the chain that begins with `op`. Returns nothing if no layer is possible.
  std::vector<Op> layer_for(Op op) {
    const auto axis = channel_axis(model_, op);
    const Value x = axis ? reading(model_, op)->y : Value();
    if (!x || x.is_tensor() || x.dtype() != DType::f32 || *axis >= x.dims().size()) return {};
    const auto forms = x.dims()[*axis] > 0 ? forms_of(x.dims(), *axis) : std::nullopt;
    if (!forms) return {};
    std::vector<Op> made = put_layer(op, x, *forms, x.dims()[*axis]);
    const Op layer = convolution_of(made);
    const std::vector<TailPart> tail = foldable_tail(model_, layer);
    if (!tail.empty() && made.back().out(0).type() == x.type() && takes_(layer)) {
      for (const TailPart& part : tail) parts_.insert(part.op.node());
      return made;
    }
    made.back().out(0).replace_all_uses_with(x);
    const Value weight = layer.in(1);
    for (auto one = made.rbegin(); one != made.rend(); ++one) model_.graph.erase(*one);
    erase_tensor(model_, weight);
    return {};
  }

  /// Returns the operators in order: a convolution by ones, with or without reshapes around it. `op` reads their
  /// result.
  std::vector<Op> put_layer(Op op, Value x, const Forms& forms, int64_t channels) {
    Tensor ones(DType::f32, {channels, 1, 1, 1});
    std::ranges::fill(ones.data<float>(), 1.0F);
    const Value weight = add_tensor(model_, op.name() + ".w", std::move(ones), Role::parameter);
    std::vector<Op> made;
    const auto add = [&](const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
      made.push_back(insert_before(model_.graph, op, info, std::move(operands), std::move(attributes)));
      return made.back().out(0);
    };
    Value y = x;
    if (!forms.image.empty()) y = add(ops::Reshape::record(), {y}, {{"dims", forms.image}});
    y = add(ops::Conv2d::record(), {y, weight}, {{"groups", channels}});
    if (forms.open_axis >= 0) {
      const auto open = static_cast<int64_t>(forms.open_axis);
      add(ops::ReshapeBy::record(), {y, x}, {{"dims", forms.back}, {"at", open}, {"axis", open}});
    } else if (!forms.back.empty()) {
      add(ops::Reshape::record(), {y}, {{"dims", forms.back}});
    }
    const std::vector<Value> operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == x) op.set_operand(static_cast<int>(i), made.back().out(0));
    }
    return made;
  }

  Model& model_;
  const std::function<bool(Op layer)>& takes_;
  std::set<const detail::OpNode*> parts_;  ///< parts of chains that have a layer
};

}  // namespace

bool scales_channels(Op op) {
  if (!op.is<ops::Conv2d>()) return false;
  const ops::Conv2d conv(op.node());
  const Dims& w = conv.w().dims();
  return w[0] == conv.groups() && w[1] == 1 && w[2] == 1 && w[3] == 1 && std::ranges::max(conv.stride()) == 1 &&
         std::ranges::max(conv.pad()) == 0;
}

std::vector<FoldedTail> fold_lone_affines(Model& model, const std::function<bool(Op layer)>& takes) {
  return LoneAffines(model, takes).run();
}

}  // namespace halfstep::passes
