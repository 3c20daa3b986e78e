#include "halfstep/passes/optimize/channels_last.h"

#include <algorithm>
#include <optional>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

constexpr size_t kRank = 4;
const std::vector<int64_t> kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};
/// Position in [n, h, w, c] of each axis of [n, c, h, w].
constexpr int64_t kAxis[] = {0, 3, 1, 2};

bool has_elements(Value value) { return value.type().is_static() && count_elements(value.dims()) > 0; }

/// Empty images are excluded: where one extent is 0, another may be anything.
bool is_image(Value value) {
  return value.dtype() == DType::f32 && value.dims().size() == kRank && has_elements(value);
}

/// A single element, which has no layout.
bool is_number(Value value) {
  return value.type().is_static() && value.dims().size() <= kRank && count_elements(value.dims()) == 1;
}

bool is_constant(Value value) { return value.is_tensor() && !updater_of(value); }

std::vector<int64_t> moved_axes(std::vector<int64_t> axes) {
  if (axes.empty()) axes = {0, 1, 2, 3};
  for (int64_t& axis : axes) axis = kAxis[axis < 0 ? axis + static_cast<int64_t>(kRank) : axis];
  return axes;
}

/// The caller sets name and location to those of the replaced operation.
OpSpec form(const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
  return {&info, std::move(operands), std::move(attributes), {}, {}};
}

/// False for operators that already have this layout or a residual.
bool is_plain(Op op) {
  if (!op.is<ops::FusedConv2d, ops::IntegerConv2d, ops::IntegerAvgPool2d>()) return true;
  const bool has_residual = op.is<ops::FusedConv2d>() && ops::FusedConv2d(op.node()).residual();
  return get<std::string>(op.attributes(), "layout") == "channels_first" && !has_residual;
}

Attributes with_channels_last(Attributes attributes) {
  attributes.insert_or_assign("layout", std::string("channels_last"));
  return attributes;
}

class Rewriter {
 public:
  Rewriter(Model& model, bool codes) : model_(model), codes_(codes) {}

  void run() {
    for (const Op op : model_.graph.ops()) {
      if (op.is<ops::ObserveRange>()) observe(ops::ObserveRange(op.node()));
      if (op.results().size() != 1 || !op.regions().empty() || !is_plain(op)) continue;
      if (std::optional<OpSpec> spec = codes_ ? last_form_of_codes(op) : last_form(op)) replace(op, std::move(*spec));
    }
    for (auto made = transposes_.rbegin(); made != transposes_.rend(); ++made) {
      if (made->out(0).unused()) model_.graph.erase(*made);
    }
  }

 private:
  /// An observer of whole images reads them in the new layout.
  void observe(ops::ObserveRange observer) {
    if (observer.axis() >= 0) return;
    const std::vector<Value> operands = observer.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const auto image = operands[i] ? last_.find(operands[i].node()) : last_.end();
      if (image != last_.end()) observer.set_operand(static_cast<int>(i), image->second);
    }
  }

  /// Returns the replacement of the operation, or nothing if it stays.
  std::optional<OpSpec> last_form(Op op) {
    if (op.is<ops::Conv2d, ops::FusedConv2d>()) return convolution(op);
    if (op.is<ops::Linear, ops::LinearActivation>()) return head(op);
    if (op.operands().empty() || !op.in(0) || !last_.contains(op.in(0).node())) {
      return op.info().elementwise ? elementwise(op) : std::nullopt;
    }
    if (op.is<ops::MaxPool2d>())
      return form(ops::ChannelsLastMaxPool2d::record(), {last(op.in(0), op)}, op.attributes());
    if (op.is<ops::AvgPool2d>())
      return form(ops::ChannelsLastAvgPool2d::record(), {last(op.in(0), op)}, op.attributes());
    if (op.is<ops::GlobalAvgPool>()) return average(op);
    if (op.is<ops::Concat, ops::Slice, ops::Pad>()) return moved(op);
    return op.info().elementwise ? elementwise(op) : std::nullopt;
  }

  std::optional<OpSpec> last_form_of_codes(Op op) {
    if (op.is<ops::IntegerConv2d>()) return integer_convolution(op);
    if (op.is<ops::IntegerAdd, ops::IntegerMul>()) return integer_elementwise(op);
    if (op.is<ops::IntegerAvgPool2d>() && has_elements(op.in(0)) && sums_codes(ops::IntegerAvgPool2d(op.node())))
      return form(op.info(), {last(op.in(0), op)}, with_channels_last(op.attributes()));
    if (op.operands().empty() || !op.in(0) || !last_.contains(op.in(0).node())) return std::nullopt;
    if (op.is<ops::MaxPool2d>())
      return form(ops::ChannelsLastMaxPool2d::record(), {last(op.in(0), op)}, op.attributes());
    if (op.is<ops::Concat, ops::Slice, ops::Pad>()) return moved(op);
    if (image_of(op)) return form(ops::Reshape::record(), {last(op.in(0), op)}, {{"dims", op.out(0).dims()}});
    if (!op.is<ops::IntegerLookup, ops::IntegerRescale>()) return std::nullopt;
    std::vector<Value> operands = op.operands();
    operands[0] = last(operands[0], op);
    return form(op.info(), std::move(operands), op.attributes());
  }

  /// False for windows that float32 requantizes and that do not cover the image. These stay unchanged.
  static bool sums_codes(ops::IntegerAvgPool2d pool) {
    const Dims& x = pool.x().dims();
    const bool whole = pool.kernel() == std::vector<int64_t>{x[2], x[3]} && std::ranges::max(pool.pad()) == 0;
    return whole || pool.requantize() != "float32";
  }

  std::optional<OpSpec> integer_convolution(Op op) {
    if (!has_elements(op.in(0)) || !has_elements(op.out(0))) return std::nullopt;
    std::vector<Value> operands = op.operands();
    operands[0] = last(operands[0], op);
    return form(op.info(), std::move(operands), with_channels_last(op.attributes()));
  }

  /// Operands are images of this layout, which may have one pixel, or single numbers.
  std::optional<OpSpec> integer_elementwise(Op op) {
    std::vector<Value> operands = op.operands();
    const auto is_known = [&](Value value) { return last_.contains(value.node()); };
    if (std::ranges::none_of(operands, is_known)) return std::nullopt;
    for (Value& operand : operands) {
      if (is_known(operand))
        operand = last(operand, op);
      else if (!is_number(operand))
        return std::nullopt;
    }
    return form(op.info(), std::move(operands), op.attributes());
  }

  std::optional<OpSpec> convolution(Op op) {
    const Value w = op.in(ops::Conv2d::record().input("w"));
    if (!is_image(op.in(0)) || !is_image(op.out(0)) || !is_constant(w)) return std::nullopt;
    std::vector<Value> operands = op.operands();
    operands[0] = last(operands[0], op);
    operands.resize(ops::FusedConv2d::record().inputs.size());
    return form(ops::FusedConv2d::record(), std::move(operands), with_channels_last(op.attributes()));
  }

  /// Returns the images of one pixel whose channels are the rows that `rows` produces, or null.
  Value image_of(Op rows) const {
    if (!rows.is<ops::Flatten, ops::Reshape>()) return {};
    const Value image = rows.in(0);
    const bool is_pixel = image.dims().size() == kRank && image.dims()[2] == 1 && image.dims()[3] == 1;
    const bool are_rows = is_pixel && rows.out(0).dims() == Dims{image.dims()[0], image.dims()[1]};
    return are_rows && last_.contains(image.node()) ? image : Value();
  }

  /// A linear layer on images of one pixel is a convolution.
  std::optional<OpSpec> head(Op op) {
    const OpInfo& info = ops::FusedConv2d::record();
    const Value image = image_of(op.in(0).producer()), w = op.in(1);
    if (!image || !is_constant(w) || !has_elements(op.out(0))) return std::nullopt;
    std::vector<Value> operands = op.operands();
    operands[0] = last(image, op);
    operands[1] = add_tensor(model_, w.name() + ".channels_last",
                             model_.tensors.at(w.name()).reshaped({w.dims()[0], w.dims()[1], 1, 1}), w.role());
    operands.resize(info.inputs.size());
    return form(info, std::move(operands), with_channels_last(op.attributes()));
  }

  std::optional<OpSpec> average(Op op) {
    const Dims& x = op.in(0).dims();
    return form(ops::ChannelsLastAvgPool2d::record(), {last(op.in(0), op)},
                {{"kernel", std::vector<int64_t>{x[2], x[3]}}, {"stride", std::vector<int64_t>{1, 1}}});
  }

  /// Returns the operation with its axes renumbered for the new layout.
  std::optional<OpSpec> moved(Op op) {
    std::vector<Value> operands = op.operands();
    Attributes attributes = op.attributes();
    if (op.is<ops::Concat>()) {
      if (!std::ranges::all_of(operands, [&](Value value) { return last_.contains(value.node()); }))
        return std::nullopt;
      for (Value& operand : operands) operand = last(operand, op);
      attributes["axis"] = moved_axes({ops::Concat(op.node()).axis()}).front();
    } else {
      operands[0] = last(operands[0], op);
      std::vector<int64_t> axes = get<std::vector<int64_t>>(attributes, "axes");
      if (axes.empty() && op.is<ops::Slice>()) {
        for (size_t i = 0; i < ops::Slice(op.node()).starts().size(); ++i) axes.push_back(static_cast<int64_t>(i));
      }
      attributes["axes"] = moved_axes(axes);
    }
    return form(op.info(), std::move(operands), std::move(attributes));
  }

  /// Operands are images of this layout, single numbers, or constants with a number for each channel.
  std::optional<OpSpec> elementwise(Op op) {
    if (!is_image(op.out(0))) return std::nullopt;
    std::vector<Value> operands = op.operands();
    bool any = false;
    for (const Value operand : operands) {
      if (!operand) continue;
      const bool known = last_.contains(operand.node());
      any = any || known;
      if (!known && !is_number(operand) && !is_by_channel(operand)) return std::nullopt;
    }
    if (!any) return std::nullopt;
    for (Value& operand : operands) {
      if (!operand) continue;
      if (last_.contains(operand.node())) {
        operand = last(operand, op);
      } else if (!is_number(operand)) {
        operand =
            add_tensor(model_, operand.name() + ".channels_last",
                       model_.tensors.at(operand.name()).reshaped({count_elements(operand.dims())}), operand.role());
      }
    }
    return form(op.info(), std::move(operands), op.attributes());
  }

  /// [c, 1, 1] or [1, c, 1, 1].
  static bool is_by_channel(Value value) {
    const Dims& dims = value.dims();
    if (!is_constant(value) || dims.size() < kRank - 1 || dims.size() > kRank || !has_elements(value)) return false;
    return count_elements(dims) == dims[dims.size() - 3];
  }

  /// Returns the image of that name with its channels last, inserting a transpose before `reader` if needed.
  Value last(Value image, Op reader) {
    const auto found = last_.find(image.node());
    if (found != last_.end()) return found->second;
    return last_.emplace(image.node(), transposed(image, kToLast, image.name() + ".channels_last", reader))
        .first->second;
  }

  Value transposed(Value image, const std::vector<int64_t>& perm, const std::string& name, Op before) {
    transposes_.push_back(model_.graph.insert(
        {&ops::Transpose::record(), {image}, {{"perm", perm}}, name, before.location()}, nullptr, before));
    return transposes_.back().out(0);
  }

  /// Unchanged readers get the image in its old layout.
  void replace(Op op, OpSpec spec) {
    const std::string name = op.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
    spec.name = name;
    spec.location = op.location();
    const Op made = model_.graph.insert(std::move(spec), nullptr, op);
    if (op.out(0).dims().size() == kRank) {
      const Value first = transposed(made.out(0), kToFirst, name + ".channels_first", op);
      op.out(0).replace_all_uses_with(first);
      last_.emplace(first.node(), made.out(0));
    } else if (made.out(0).type() == op.out(0).type()) {
      op.out(0).replace_all_uses_with(made.out(0));
    } else {
      const Op rows = model_.graph.insert(
          {&ops::Reshape::record(), {made.out(0)}, {{"dims", op.out(0).dims()}}, name + ".rows", op.location()},
          nullptr, op);
      op.out(0).replace_all_uses_with(rows.out(0));
    }
    model_.graph.erase(op);
    model_.graph.rename(made, name);
  }

  Model& model_;
  bool codes_;
  std::map<const detail::ValueNode*, Value> last_;  ///< channels-last form by image
  std::vector<Op> transposes_;
};

}  // namespace

void channels_last(Model& model) { Rewriter(model, false).run(); }

void channels_last_codes(Model& model) { Rewriter(model, true).run(); }

}  // namespace halfstep::passes
