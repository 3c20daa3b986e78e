#include "halfstep/passes/canonical/fold_tails.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/stored_numbers.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

bool is_given_f32_tensor(Value value) { return value && value.is_tensor() && value.dtype() == DType::f32; }
bool is_own_tensor(Value value) { return is_given_f32_tensor(value) && value.has_one_use(); }

bool can_take_in(Op op) {
  const QuantInfo& quant = op.info().quant;
  const bool is_layer = quant.trait == Trait::weighted || quant.trait == Trait::weighted_in_float;
  return is_layer && quant.bias >= 0 && is_given_f32_tensor(op.in(quant.weight)) &&
         (!op.in(quant.bias) || is_own_tensor(op.in(quant.bias)));
}

/// Returns an affine without channels if there are no parts.
ChannelAffine composed(std::span<const TailPart> parts) {
  ChannelAffine all;
  for (const TailPart& part : parts) all = &part == parts.data() ? part.affine : composed(all, part.affine);
  return all;
}

/// Keeps only the first parts, up to one that the layer cannot fold.
void keep_foldable(std::vector<TailPart>& tail, bool is_own_weight) {
  size_t count = 0;
  for (; count < tail.size(); ++count) {
    const ChannelAffine all = composed(std::span(tail).first(count + 1));
    if (all.scales() && !is_own_weight) break;
    if (!tail[count].op.is<ops::BatchNorm>() && !all.fits_f32()) break;
  }
  tail.erase(tail.begin() + static_cast<ptrdiff_t>(count), tail.end());
}

/// Weight and bias of a layer. The bias is undefined if it has none.
struct Parameters {
  Tensor weight, bias;
  int axis;  ///< axis of output channels in the weight

  Parameters with(const ChannelAffine& affine) const {
    Parameters made = *this;
    if (affine.scales()) made.weight = folded_weight(weight, affine, axis);
    if (affine.adds() || (affine.scales() && bias.defined())) made.bias = folded_bias(bias, affine);
    return made;
  }
};

/// Whether `found` is within twice the rounding error of f32.
bool is_rounded(double found, double exact) {
  return std::fabs(found - exact) <= 0x1p-23 * std::fabs(exact) || (std::isnan(found) && std::isnan(exact));
}

class Folding {
 public:
  Folding(Model& model, Op layer, std::vector<TailPart> tail, LayerName name)
      : model_(model),
        layer_(layer),
        quant_(layer.info().quant),
        tail_(std::move(tail)),
        all_(composed(tail_)),
        name_(name) {}

  FoldedTail run() {
    const Parameters before = parameters();
    FoldedTail folded;
    folded.norm = norm_in(before);
    const Parameters made = folded.norm ? with_norm(*folded.norm) : before.with(all_);
    take_out();
    set(made);
    folded.layer = layer_.name();
    folded.result = result_;
    if (folded.norm) name_parts(*folded.norm);
    for (const Value operand : unread_) erase_unread(model_, operand);
    return folded;
  }

 private:
  const Tensor& contents(Value tensor) const { return model_.tensors.at(tensor.name()); }

  Parameters parameters() const {
    const Value bias = layer_.in(quant_.bias);
    return {contents(layer_.in(quant_.weight)), bias ? contents(bias) : Tensor(), quant_.weight_axis};
  }

  /// Returns the first normalization, with the parts before it folded into the layer and the parts after it into the
  /// normalization. Returns nothing if this would be less exact than folding all parts at once.
  std::optional<FoldedNorm> norm_in(const Parameters& layer) const {
    const auto found = std::ranges::find_if(tail_, [](const TailPart& part) { return part.op.is<ops::BatchNorm>(); });
    if (found == tail_.end()) return std::nullopt;
    const std::span<const TailPart> parts(tail_);
    const auto place = static_cast<size_t>(found - tail_.begin());
    const ChannelAffine inner = composed(parts.first(place)), outer = composed(parts.subspan(place + 1));
    const Parameters raw = layer.with(inner);
    const ops::BatchNorm norm(found->op.node());
    const auto named = [&](Value tensor) { return std::pair(tensor.name(), contents(tensor)); };
    FoldedNorm folded{.raw_weight = raw.weight,
                      .raw_bias = raw.bias,
                      .scale = named(norm.scale()),
                      .shift = named(norm.bias()),
                      .mean = named(norm.mean()),
                      .variance = named(norm.variance()),
                      .epsilon = norm.epsilon(),
                      .momentum = norm.momentum()};
    if (tail_.size() == 1) return folded;
    if (place + 1 < tail_.size()) {
      folded.scale = {"", folded_bias(folded.scale.second, {outer.factor, no_affine(outer.factor.size()).offset})};
      folded.shift = {"", folded_bias(folded.shift.second, outer)};
    }
    settle_bias(layer, folded);
    const bool is_kept = !(inner.scales() && outer.scales()) && is_exact(layer, folded);
    return is_kept ? std::optional(std::move(folded)) : std::nullopt;
  }

  /// Returns the final bias of the layer, by channel.
  std::vector<double> exact_bias(const Parameters& layer) const {
    std::vector<double> bias = all_.offset;
    for (size_t c = 0; c < bias.size() && layer.bias.defined(); ++c)
      bias[c] += std::as_const(layer.bias).data<float>()[c] * all_.factor[c];
    return bias;
  }

  /// Corrects the rounding error of the bias in the smaller of its two summands.
  void settle_bias(const Parameters& layer, FoldedNorm& norm) const {
    const std::vector<double> exact = exact_bias(layer);
    const ChannelAffine affine = affine_of(norm);
    Tensor raw = norm.raw_bias.defined() ? norm.raw_bias.clone() : Tensor(DType::f32, norm.shift.second.dims());
    Tensor shift = norm.shift.second.clone();
    const auto biases = raw.data<float>(), shifts = shift.data<float>();
    for (size_t c = 0; c < exact.size(); ++c) {
      const double added = biases[c] * affine.factor[c], rest = exact[c] - (added + affine.offset[c]);
      if (!(std::fabs(rest) > 0x1p-25 * std::fabs(exact[c]))) continue;
      if (affine.factor[c] != 0 && std::fabs(added) < std::fabs(shifts[c])) {
        biases[c] = static_cast<float>(biases[c] + rest / affine.factor[c]);
        norm.raw_bias = raw;
      } else {
        shifts[c] = static_cast<float>(shifts[c] + rest);
        norm.shift = {"", shift};
      }
    }
  }

  bool is_exact(const Parameters& layer, const FoldedNorm& norm) const {
    const std::vector<double> exact = exact_bias(layer);
    const Tensor made = with_norm(norm).bias;
    return std::ranges::equal(std::as_const(made).data<float>(), exact, is_rounded);
  }

  static ChannelAffine affine_of(const FoldedNorm& norm) {
    return norm_affine(norm.scale.second, norm.shift.second, norm.mean.second, norm.variance.second, norm.epsilon);
  }

  Parameters with_norm(const FoldedNorm& norm) const {
    const ChannelAffine affine = affine_of(norm);
    return {folded_weight(norm.raw_weight, affine, quant_.weight_axis), folded_bias(norm.raw_bias, affine),
            quant_.weight_axis};
  }

  /// Removes the tail, so that the layer makes the result of its tail.
  void take_out() {
    Graph& graph = model_.graph;
    std::vector<Op> renamed = {layer_};
    for (const TailPart& part : tail_) renamed.insert(renamed.end(), part.moves.begin(), part.moves.end());
    result_ = tail_.back().op.name();
    for (const TailPart& part : tail_) {
      std::vector<Value> operands = part.op.operands();
      part.op.out(0).replace_all_uses_with(operands[static_cast<size_t>(part.port)]);
      operands.erase(operands.begin() + part.port);
      unread_.insert(unread_.end(), operands.begin(), operands.end());
      graph.erase(part.op);
    }
    if (renamed.size() == 1 && name_ == LayerName::own) return;
    graph.rename(renamed.back(), result_);
    renamed.pop_back();
    for (const Op op : renamed) graph.rename(op, graph.unique_name(result_));
  }

  void set(const Parameters& made) {
    model_.tensors.at(layer_.in(quant_.weight).name()) = made.weight;
    if (const Value bias = layer_.in(quant_.bias)) {
      model_.tensors.at(bias.name()) = made.bias;
    } else if (made.bias.defined()) {
      const Role role = layer_.in(quant_.weight).role();
      layer_.set_operand(quant_.bias, add_tensor(model_, layer_.name() + ".b", made.bias, role));
      layer_.infer();
    }
  }

  void name_parts(FoldedNorm& norm) const {
    norm.layer = layer_.name();
    norm.weight = layer_.in(quant_.weight).name();
    norm.bias = layer_.in(quant_.bias).name();
    if (norm.scale.first.empty()) norm.scale.first = norm.layer + ".norm_scale";
    if (norm.shift.first.empty()) norm.shift.first = norm.layer + ".norm_shift";
  }

  Model& model_;
  Op layer_;
  const QuantInfo& quant_;
  std::vector<TailPart> tail_;
  ChannelAffine all_;
  LayerName name_;
  std::string result_;
  std::vector<Value> unread_;  ///< other operands of the parts
};

/// Keeps parts up to the first that is neither. A sum counts as a bias if it is the first part and the layer lacks one.
void keep_norms_and_bias(std::vector<TailPart>& tail, bool lacks_bias) {
  const auto is_other = [&](const TailPart& part) {
    const bool is_bias = lacks_bias && &part == tail.data() && !part.affine.scales();
    return !part.op.is<ops::BatchNorm>() && !is_bias;
  };
  tail.erase(std::ranges::find_if(tail, is_other), tail.end());
}

}  // namespace

ChannelLayout::ChannelLayout(const Dims& dims, int axis, int64_t channels) {
  const std::span all(dims);
  columns = all[static_cast<size_t>(axis)];
  groups = channels / columns;
  rows = count_elements(all.first(static_cast<size_t>(axis))) / groups;
  run = count_elements(all.subspan(static_cast<size_t>(axis) + 1));
  HS_CHECK(groups * columns == channels && groups * rows * columns * run == count_elements(dims));
}

Tensor folded_weight(const Tensor& w, const ChannelAffine& affine, int axis) {
  Tensor result = Tensor::uninitialized(w.dtype(), w.dims());
  const ChannelLayout layout(w.dims(), axis, static_cast<int64_t>(affine.factor.size()));
  const float* src = w.data<float>().data();
  float* dst = result.data<float>().data();
  for (int64_t group = 0; group < layout.groups; ++group) {
    for (int64_t row = 0; row < layout.rows; ++row) {
      for (int64_t column = 0; column < layout.columns; ++column, src += layout.run, dst += layout.run) {
        const double factor = affine.factor[static_cast<size_t>(group * layout.columns + column)];
        for (int64_t i = 0; i < layout.run; ++i) dst[i] = static_cast<float>(src[i] * factor);
      }
    }
  }
  return result;
}

Tensor folded_bias(const Tensor& b, const ChannelAffine& affine) {
  Tensor result(DType::f32, {static_cast<int64_t>(affine.factor.size())});
  const auto dst = result.data<float>();
  for (size_t c = 0; c < dst.size(); ++c) {
    const double before = b.defined() ? b.data<float>()[c] : 0.0;
    dst[c] = static_cast<float>(before * affine.factor[c] + affine.offset[c]);
  }
  return result;
}

std::vector<TailPart> foldable_tail(const Model& model, Op layer) {
  std::vector<TailPart> tail = tail_of(model, layer);
  keep_foldable(tail, is_own_tensor(layer.in(layer.info().quant.weight)));
  return tail;
}

std::optional<FoldedTail> fold_tail(Model& model, Op layer, LayerName name, Tails which) {
  if (!can_take_in(layer)) return std::nullopt;
  std::vector<TailPart> tail = foldable_tail(model, layer);
  if (which == Tails::norms_and_biases) keep_norms_and_bias(tail, !layer.in(layer.info().quant.bias));
  if (tail.empty()) return std::nullopt;
  return Folding(model, layer, std::move(tail), name).run();
}

std::vector<FoldedTail> fold_tails(Model& model, Tails which) {
  std::vector<FoldedTail> folded;
  for (const Op op : model.graph.all_ops()) {
    if (auto one = fold_tail(model, op, LayerName::own, which)) folded.push_back(std::move(*one));
  }
  return folded;
}

}  // namespace halfstep::passes
