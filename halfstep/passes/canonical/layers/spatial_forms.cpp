#include "halfstep/passes/canonical/layers/spatial_forms.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "halfstep/passes/canonical/layers/open_moves.h"
#include "halfstep/passes/graph/rearranged.h"
#include "halfstep/passes/graph/resampling.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/spatial_axes.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Ints = std::vector<int64_t>;

/// Index tensor [windows, kernel] of the elements that windows along a padded axis read.
Tensor window_indices(int64_t windows, const SpatialAxis& axis) {
  std::vector<int64_t> indices;
  for (int64_t window = 0; window < windows; ++window) {
    for (int64_t tap = 0; tap < axis.kernel; ++tap) indices.push_back(window * axis.stride + tap * axis.dilation);
  }
  return Tensor::of<int64_t>(DType::i64, {windows, axis.kernel}, indices);
}

int64_t windows_over(int64_t padded_extent, const SpatialAxis& axis) {
  return (padded_extent - axis.span()) / axis.stride + 1;
}

class SpatialForms {
 public:
  explicit SpatialForms(Model& model) : model_(model) {}

  std::vector<RewrittenLayer> run(const std::function<bool(Op)>& wanted) {
    std::vector<RewrittenLayer> rewritten;
    for (const Op op : model_.graph.ops()) {
      if (op.results().size() != 1 || op.out(0).dtype() != DType::f32 || op.in(0).is_tensor() || !wanted(op)) continue;
      old_ = op;
      Value made;
      if (op.is<ops::Conv>()) made = convolution(ops::Conv(op.node()));
      if (op.is<ops::ConvTranspose>()) made = transposed(ops::ConvTranspose(op.node()));
      if (op.is<ops::MaxPool>()) made = maximum(ops::MaxPool(op.node()));
      if (op.is<ops::AveragePool>()) made = mean(ops::AveragePool(op.node()));
      if (op.is<ops::GlobalMaxPool>()) made = global_maximum(op.in(0));
      if (op.is<ops::Resize>()) made = nearest(op);
      if (!made) continue;
      rewritten.push_back({op.node(), op.out(0).node(), layer_of(made)});
      replace(model_.graph, op, made.producer());
    }
    for (const Value tensor : model_.graph.tensors()) {
      if (tensor.unused()) erase_tensor(model_, tensor);
    }
    return rewritten;
  }

 private:
  /// The convolution whose moved result `made` is, or else the producer of `made`.
  static Op layer_of(Value made) {
    Op layer = made.producer();
    while (layer && moves_codes(layer) && !layer.is<ops::MaxPool2d>()) layer = layer.in(0).producer();
    return layer && layer.is<ops::Conv2d>() ? layer : made.producer();
  }

  /// A convolution, with weights [o, c / groups, ...].
  struct Layer {
    Value w, b;
    int64_t groups;
    SpatialAxes axes;
  };

  Value insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) {
    return insert_before(model_.graph, old_, info, std::move(operands), std::move(attributes)).out(0);
  }
  OpenMoves open() { return {model_, old_}; }
  Value reshape(Value x, Ints dims) { return insert(ops::Reshape::record(), {x}, {{"dims", std::move(dims)}}); }
  Value permute(Value x, Ints perm) { return insert(ops::Transpose::record(), {x}, {{"perm", std::move(perm)}}); }

  Value convolution(const ops::Conv& conv) {
    const auto axes = axes_of(conv);
    if (!axes || !is_stored_f32(conv.w())) return {};
    return convolve(conv.x(), {conv.w(), conv.b(), conv.groups(), *axes});
  }

  Value transposed(const ops::ConvTranspose& layer) {
    const auto axes = axes_behind_zeros(layer);
    if (!axes || !is_stored_f32(layer.w())) return {};
    return convolve(with_zeros(layer.x(), strides_of(layer), *axes),
                    {flipped(layer.w(), layer.groups()), layer.b(), layer.groups(), behind(*axes, strides_of(layer))});
  }

  /// Padding without the zeros after the last element, which with_zeros adds.
  static SpatialAxes behind(SpatialAxes axes, const Ints& strides) {
    for (size_t i = 0; i < axes.size(); ++i) axes[i].padding.after -= strides[i] - 1;
    return axes;
  }

  /// Puts stride - 1 zeros behind every element along each axis.
  Value with_zeros(Value x, const Ints& strides, const SpatialAxes& axes) {
    if (has_open_axes(x)) {
      for (size_t i = 0; i < axes.size(); ++i) {
        if (strides[i] > 1) x = open().with_zeros(x, i + 2, strides[i] - 1);
      }
      return x;
    }
    Ints inner, after, dims{0, 0};
    for (size_t i = 0; i < axes.size(); ++i) {
      dims.push_back(x.dims()[i + 2] * strides[i]);
      if (strides[i] == 1) continue;
      inner.push_back(static_cast<int64_t>(i + 3 + inner.size()));
      after.push_back(strides[i] - 1);
    }
    if (inner.empty()) return x;
    Ints pads(inner.size(), 0);
    pads.insert(pads.end(), after.begin(), after.end());
    const Value apart = insert(ops::Unsqueeze::record(), {x}, {{"axes", inner}});
    return reshape(insert(ops::Pad::record(), {apart}, {{"pads", pads}, {"axes", inner}}), dims);
  }

  /// Weights [c, o / groups, ...] of a transposed convolution as [o, c / groups, ...].
  Value flipped(Value w, int64_t groups) {
    Dims dims = w.dims();
    const int64_t inputs = dims[0] / groups, outputs = dims[1];
    return derived(w, ".flipped", [&](const Tensor& tensor) {
      Dims split = dims;
      split[0] = inputs;
      split.insert(split.begin(), groups);
      Ints perm(split.size());
      std::iota(perm.begin(), perm.end(), int64_t{0});
      std::swap(perm[1], perm[2]);
      std::vector<bool> turns(split.size(), true);
      turns[0] = turns[1] = turns[2] = false;
      Dims made = dims;
      made[0] = groups * outputs;
      made[1] = inputs;
      return rearranged(tensor.reshaped(split), perm, turns).reshaped(made);
    });
  }

  /// Returns the tensor that `change` makes of `tensor`. Layers that share a tensor share the result.
  template <class Change>
  Value derived(Value tensor, const char* suffix, Change change) {
    Value& made = derived_[{tensor.name(), suffix}];
    if (!made)
      made = add_tensor(model_, tensor.name() + suffix, change(model_.tensors.at(tensor.name())), tensor.role());
    return made;
  }

  /// Inserts the convolution of x[n, c, ...].
  Value convolve(Value x, const Layer& layer) {
    switch (layer.axes.size()) {
      case 1: return insert(ops::Squeeze::record(), {line(x, layer)}, {{"axes", Ints{2}}});
      case 2: return image(cropped(x, layer.axes), layer);
      default: return volume(x, layer);
    }
  }

  Value line(Value x, Layer layer) {
    const Dims dims = layer.w.dims();
    layer.w = derived(layer.w, ".image", [&](const Tensor& w) { return w.reshaped({dims[0], dims[1], 1, dims[2]}); });
    layer.axes.insert(layer.axes.begin(), SpatialAxis());
    return image(cropped(insert(ops::Unsqueeze::record(), {x}, {{"axes", Ints{2}}}), layer.axes), layer);
  }

  /// Removes the elements of negative padding.
  Value cropped(Value x, const SpatialAxes& axes) {
    SpatialAxes negative = axes;
    for (SpatialAxis& axis : negative) {
      axis.padding = {std::min<int64_t>(axis.padding.before, 0), std::min<int64_t>(axis.padding.after, 0)};
    }
    return padded(x, negative, 2, {});
  }

  /// Pads the axes from `first` on.
  Value padded(Value x, const SpatialAxes& axes, size_t first, Value fill) {
    if (std::ranges::none_of(axes, &SpatialAxis::is_padded)) return x;
    Ints pads, after, places;
    for (const SpatialAxis& axis : axes) {
      places.push_back(static_cast<int64_t>(first + places.size()));
      pads.push_back(axis.padding.before);
      after.push_back(axis.padding.after);
    }
    pads.insert(pads.end(), after.begin(), after.end());
    return insert(ops::Pad::record(), {x, fill}, {{"pads", pads}, {"axes", places}});
  }

  Value image(Value x, const Layer& layer) {
    const SpatialAxis &h = layer.axes[0], &w = layer.axes[1];
    const auto pad = [](int64_t elements) { return std::max<int64_t>(elements, 0); };
    return insert(
        ops::Conv2d::record(), {x, layer.w, layer.b},
        {{"groups", layer.groups},
         {"stride", Ints{h.stride, w.stride}},
         {"dilation", Ints{h.dilation, w.dilation}},
         {"pad", Ints{pad(h.padding.before), pad(w.padding.before), pad(h.padding.after), pad(w.padding.after)}}});
  }

  /// Returns x[n, d, c, h, w], d padded, as images whose channels are those of all planes in a window:
  /// [n * windows, groups * kernel * c / groups, h, w].
  Value stacked(Value x, const SpatialAxis& depth, int64_t groups) {
    const Dims dims = x.dims();
    const int64_t windows = windows_over(dims[1], depth), inputs = dims[2] / groups;
    const bool is_whole = windows == 1 && depth.kernel == dims[1];
    if (!is_whole && (depth.kernel > 1 || depth.stride > 1)) x = gathered(x, 1, depth);
    if (groups > 1 && depth.kernel > 1) {
      const Value apart = reshape(x, {-1, depth.kernel, groups, inputs, dims[3], dims[4]});
      x = permute(apart, {0, 2, 1, 3, 4, 5});
    }
    return reshape(x, {-1, depth.kernel * dims[2], dims[3], dims[4]});
  }

  /// Replaces an axis by two: the windows, and their elements.
  Value gathered(Value x, size_t axis, const SpatialAxis& window) {
    if (x.dims()[axis] == kUnknown) return open().windows(x, axis, open().window_starts(x, axis, window), window);
    const Tensor indices = window_indices(windows_over(x.dims()[axis], window), window);
    const Value places = add_tensor(model_, old_.name() + ".windows", indices, Role::constant);
    return insert(ops::Gather::record(), {x, places}, {{"axis", static_cast<int64_t>(axis)}});
  }

  Value volume(Value x, Layer layer) {
    const SpatialAxis depth = layer.axes[0];
    layer.axes.erase(layer.axes.begin());
    const bool is_open = has_open_axes(x);
    x = padded(permute(x, {0, 2, 1, 3, 4}), {depth}, 1, {});
    layer.w = derived(layer.w, ".planes", [&](const Tensor& w) {
      const Dims& dims = w.dims();
      return rearranged(w, {0, 2, 1, 3, 4}).reshaped({dims[0], dims[1] * dims[2], dims[3], dims[4]});
    });
    if (is_open) return open_volume(x, depth, layer);
    const int64_t windows = windows_over(x.dims()[1], depth);
    const Value made = image(cropped(stacked(x, depth, layer.groups), layer.axes), layer);
    const Dims& dims = made.dims();
    return permute(reshape(made, {-1, windows, dims[1], dims[2], dims[3]}), {0, 2, 1, 3, 4});
  }

  /// Rewrites a layer over volumes x[n, d, c, h, w] with extents that only a run knows.
  Value open_volume(Value x, const SpatialAxis& depth, const Layer& layer) {
    const int64_t channels = depth.kernel * x.dims()[2];
    const Value starts = open().window_starts(x, 1, depth);
    x = open().windows(x, 1, starts, depth);
    Ints order = {4, 5, 0, 1, 2, 3};
    if (layer.groups > 1) {
      x = reshape(permute(x, order), {0, 0, 0, 0, depth.kernel, layer.groups, -1});
      order = {0, 1, 2, 3, 5, 4, 6};
    }
    const Value made = image(cropped(open().as_images(x, order, channels), layer.axes), layer);
    return open().from_images(made, starts, 0, {2, 4, 3, 0, 1});
  }

  Value maximum(const ops::MaxPool& pool) {
    const auto axes = axes_of(pool);
    if (!axes || pool.with_indices()) return {};
    const bool is_dilated = std::ranges::any_of(*axes, [](const SpatialAxis& axis) { return axis.dilation > 1; });
    if (is_dilated) return {};
    Value x = pool.x();
    if (std::ranges::any_of(*axes, &SpatialAxis::is_padded)) {
      const Tensor lowest = Tensor::scalar(-std::numeric_limits<float>::infinity());
      x = padded(x, *axes, 2, add_tensor(model_, old_.name() + ".lowest", lowest, Role::constant));
    }
    return largest(x, *axes);
  }

  Value largest(Value x, const SpatialAxes& axes) {
    const auto over = [&](Value from, const SpatialAxis& h, const SpatialAxis& w) {
      return insert(ops::MaxPool2d::record(), {from},
                    {{"kernel", Ints{h.kernel, w.kernel}}, {"stride", Ints{h.stride, w.stride}}});
    };
    if (axes.size() == 2) return over(x, axes[0], axes[1]);
    if (axes.size() == 1) {
      x = over(insert(ops::Unsqueeze::record(), {x}, {{"axes", Ints{2}}}), SpatialAxis(), axes[0]);
      return insert(ops::Squeeze::record(), {x}, {{"axes", Ints{2}}});
    }
    const Dims dims = x.dims();
    if (has_open_axes(x)) {
      const Value rows = over(open().as_images(x, {3, 4, 0, 2, 1}, dims[1]), axes[1], axes[2]);
      const Value apart = open().from_images(rows, x, 2, {3, 1, 2, 0, 4});  // d, w, n, h, c
      const Value all = over(open().as_images(apart, {0, 1, 2, 3, 4}, dims[1]), axes[0], SpatialAxis());
      return open().from_images(all, rows, 2, {2, 4, 0, 3, 1});
    }
    const Value planes = over(reshape(x, {0, dims[1] * dims[2], dims[3], dims[4]}), axes[1], axes[2]);
    const int64_t h = planes.dims()[2], w = planes.dims()[3];
    const Value made = over(reshape(planes, {0, dims[1], dims[2], h * w}), axes[0], SpatialAxis());
    return reshape(made, {0, 0, -1, h, w});
  }

  Value mean(const ops::AveragePool& pool) {
    const auto axes = axes_of(pool);
    if (!axes || std::ranges::any_of(*axes, [&](const SpatialAxis& a) { return !counts(pool, a); })) return {};
    const bool is_image =
        axes->size() == 2 && std::ranges::none_of(*axes, [](const auto& a) { return a.dilation > 1; });
    return is_image ? Value() : mean_of_windows(padded(pool.x(), *axes, 2, {}), *axes);
  }

  /// Whether every element of a window counts in its mean.
  static bool counts(const ops::AveragePool& pool, const SpatialAxis& axis) {
    return pool.count_include_pad() ? !pool.ceil_mode() : !axis.is_padded();
  }

  Value mean_of_windows(Value x, const SpatialAxes& axes) {
    Ints taken;
    for (size_t i = axes.size(); i-- > 0;) x = gathered(x, i + 2, axes[i]);
    for (size_t i = 0; i < axes.size(); ++i) taken.push_back(static_cast<int64_t>(2 * i + 3));
    return insert(ops::ReduceMean::record(), {x}, {{"axes", taken}, {"keep_dims", false}});
  }

  /// Selects the nearest elements along one axis after another.
  Value nearest(Op resize) {
    const Dims &from = resize.in(0).dims(), &to = resize.out(0).dims();
    const arith::Resampling resampling = resampling_of(resize);
    if (has_open_axes(resize.in(0))) return repeated(resize.in(0), resampling);
    const bool is_known = std::equal(from.begin() + 1, from.end(), to.begin() + 1,
                                     [](int64_t a, int64_t b) { return a != kUnknown && b != kUnknown; });
    if (resampling.mode != "nearest" || resampling.coordinates == "tf_crop_and_resize" || !is_known || from[0] != to[0])
      return {};
    Value x = resize.in(0);
    for (const arith::ResampledAxis& axis : arith::resampled_axes(resampling, from, to)) {
      if (axis.axis == 0) return {};
      const Tensor places = Tensor::of<int64_t>(DType::i64, {axis.out}, axis.places);
      const Value stored = add_tensor(model_, old_.name() + ".places", places, Role::constant);
      x = insert(ops::Gather::record(), {x, stored}, {{"axis", static_cast<int64_t>(axis.axis)}});
    }
    return x == resize.in(0) ? Value() : x;
  }

  /// Repeats elements, where a resize by integer factors takes the nearest ones for all extents.
  Value repeated(Value x, const arith::Resampling& resampling) {
    constexpr int64_t kTried = 7;
    if (resampling.mode != "nearest" || resampling.coordinates == "tf_crop_and_resize" || resampling.scales.empty())
      return {};
    const Dims from(x.dims().size(), kTried);
    Dims to = from;
    for (size_t i = 0; i < resampling.scales.size(); ++i) {
      const int64_t axis = resampling.axes.empty() ? static_cast<int64_t>(i) : resampling.axes[i];
      const auto factor = static_cast<int64_t>(resampling.scales[i]);
      if (factor < 1 || static_cast<double>(factor) != resampling.scales[i]) return {};
      to[static_cast<size_t>(axis < 0 ? axis + std::ssize(to) : axis)] *= factor;
    }
    const auto axes = arith::resampled_axes(resampling, from, to);
    for (const arith::ResampledAxis& axis : axes) {
      for (int64_t i = 0; i < axis.out; ++i) {
        if (axis.axis == 0 || axis.places[static_cast<size_t>(i)] != i * kTried / axis.out) return {};
      }
    }
    for (const arith::ResampledAxis& axis : axes) x = open().repeated(x, axis.axis, axis.out / kTried);
    return axes.empty() ? Value() : x;
  }

  Value global_maximum(Value x) {
    Ints axes(x.dims().size() - 2);
    std::iota(axes.begin(), axes.end(), int64_t{2});
    return insert(ops::ReduceMax::record(), {x}, {{"axes", axes}, {"keep_dims", true}});
  }

  Model& model_;
  Op old_;  ///< layer that is rewritten
  std::map<std::pair<std::string, std::string>, Value> derived_;
};

/// Returns the operators between a conv2d and `activation`, from the first to the last. Empty if there is another
/// operator or another reader.
std::vector<Op> moves_before(Op activation) {
  std::vector<Op> moves;
  for (Value from = activation.in(0); from.producer() && only_reader(from); from = from.producer().in(0)) {
    const Op op = from.producer();
    if (op.is<ops::Conv2d>()) return {moves.rbegin(), moves.rend()};
    if (!op || !op.is<ops::Squeeze, ops::Reshape, ops::ReshapeBy, ops::Transpose>()) break;
    moves.push_back(op);
  }
  return {};
}

}  // namespace

void spatial_forms(Model& model) {
  spatial_forms(model, [](Op) { return true; });
}

std::vector<RewrittenLayer> spatial_forms(Model& model, const std::function<bool(Op layer)>& wanted) {
  return SpatialForms(model).run(wanted);
}

void activations_before_moves(Graph& graph, const std::function<bool(Op activation)>& fuses) {
  for (const Op op : graph.ops()) {
    if (!has_trait(op, Trait::fuses_into_producer) || !fuses(op)) continue;
    const std::vector<Op> moves = moves_before(op);
    if (moves.empty()) continue;
    const Op moved =
        graph.insert({&op.info(), {moves[0].in(0)}, op.attributes(), op.name(), op.location()}, nullptr, moves[0]);
    moves[0].set_operand(0, moved.out(0));
    replace(graph, op, moves.back());
  }
}

}  // namespace halfstep::passes
