#include "halfstep/passes/optimize/phase_convolutions.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/spread_image.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Ints = std::vector<int64_t>;

/// Remainder of a division, at least 0.
int64_t remainder_of(int64_t number, int64_t divisor) { return ((number % divisor) + divisor) % divisor; }

/// A convolution along one axis, over elements that lie `stride` apart between zeros.
struct PhaseAxis {
  int64_t stride, kernel, dilation, padding, elements, outputs;

  /// Position of the element that output 0 of a phase reads at a tap, or nothing if a zero is there.
  std::optional<int64_t> place(int64_t phase, int64_t tap) const {
    const int64_t at = phase + tap * dilation - padding;
    return remainder_of(at, stride) == 0 ? std::optional(at / stride) : std::nullopt;
  }

  /// First element that output 0 of any phase reads, and the element after the last one. Includes element 0.
  std::pair<int64_t, int64_t> reach() const {
    int64_t first = 0, end = 1;
    for (int64_t phase = 0; phase < stride; ++phase) {
      for (int64_t tap = 0; tap < kernel; ++tap) {
        const auto at = place(phase, tap);
        if (!at) continue;
        first = std::min(first, *at);
        end = std::max(end, *at + 1);
      }
    }
    return {first, end};
  }

  int64_t taps() const { return reach().second - reach().first; }
  int64_t before() const { return -reach().first; }
  /// Outputs of each phase. Some of the last may be beyond the layer's outputs.
  int64_t places() const { return std::max((outputs + stride - 1) / stride, elements + before() - taps() + 1); }
  int64_t after() const { return places() - 1 + taps() - before() - elements; }
};

class Phases {
 public:
  Phases(Model& model, const ops::IntegerConv2d& layer, const SpreadImage& spread)
      : model_(model), layer_(layer), image_(spread.image), h_(axis(spread, 0)), w_(axis(spread, 1)) {}

  void run() {
    const int64_t outputs = layer_.w().dims()[0];
    const Value wide = convolution();
    const Value apart = insert(ops::Reshape::record(), {wide},
                               {{"dims", Ints{-1, h_.stride, w_.stride, outputs, h_.places(), w_.places()}}});
    const Value moved = insert(ops::Transpose::record(), {apart}, {{"perm", Ints{0, 3, 4, 1, 5, 2}}});
    const int64_t height = h_.places() * h_.stride, width = w_.places() * w_.stride;
    const Value all = insert(ops::Reshape::record(), {moved}, {{"dims", Ints{-1, outputs, height, width}}});
    const bool is_whole = height == h_.outputs && width == w_.outputs;
    const Value result =
        is_whole ? all
                 : insert(ops::Slice::record(), {all},
                          {{"starts", Ints{0, 0}}, {"ends", Ints{h_.outputs, w_.outputs}}, {"axes", Ints{2, 3}}});
    replace(model_.graph, layer_, result.producer());
  }

 private:
  PhaseAxis axis(const SpreadImage& spread, size_t i) const {
    return {spread.strides[i], layer_.w().dims()[i + 2],   layer_.dilation()[i],
            layer_.pad()[i],   spread.image.dims()[i + 2], layer_.out().dims()[i + 2]};
  }

  Value insert(const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
    return insert_before(model_.graph, layer_, info, std::move(operands), std::move(attributes)).out(0);
  }

  Value convolution() {
    std::vector<Value> operands = layer_.operands();
    operands[0] = image_;
    operands[1] = stored(operands[1], weights());
    for (size_t i = 2; i < operands.size(); ++i) operands[i] = for_each_phase(operands[i]);
    Attributes attributes = layer_.attributes();
    attributes.insert_or_assign("dilation", Ints{1, 1});
    attributes.insert_or_assign("pad", Ints{h_.before(), w_.before(), h_.after(), w_.after()});
    return insert(layer_.info(), std::move(operands), std::move(attributes));
  }

  Value stored(Value old, Tensor contents) {
    return add_tensor(model_, old.name() + ".phases", std::move(contents), old.role());
  }

  /// A tensor with one value for each output channel, repeated for each phase. A multiplier may be one for all
  /// channels.
  Value for_each_phase(Value tensor) {
    if (!tensor || (tensor.dims() == Dims{1} && tensor != layer_.b())) return tensor;
    const Tensor& one = model_.tensors.at(tensor.name());
    Tensor all(one.dtype(), {h_.stride * w_.stride * one.dims()[0]});
    for (int64_t phase = 0; phase < h_.stride * w_.stride; ++phase)
      std::memcpy(all.raw() + phase * one.bytes(), one.raw(), static_cast<size_t>(one.bytes()));
    return stored(tensor, std::move(all));
  }

  /// Weights [phases * o, c, taps, taps]: those of a phase at the places of the elements that it reads, and 0
  /// elsewhere.
  Tensor weights() const {
    const Tensor& old = model_.tensors.at(layer_.w().name());
    const int64_t filters = old.dims()[0] * old.dims()[1], kernel = h_.kernel * w_.kernel, taps = h_.taps() * w_.taps();
    Tensor made(old.dtype(), {h_.stride * w_.stride * old.dims()[0], old.dims()[1], h_.taps(), w_.taps()});
    const auto from = old.data<int8_t>();
    int8_t* to = made.data<int8_t>().data();
    for (int64_t y = 0; y < h_.stride; ++y) {
      for (int64_t x = 0; x < w_.stride; ++x, to += filters * taps) {
        for (int64_t tap = 0; tap < kernel; ++tap) {
          const auto row = h_.place(y, tap / w_.kernel), column = w_.place(x, tap % w_.kernel);
          if (!row || !column) continue;
          const int64_t at = (*row + h_.before()) * w_.taps() + *column + w_.before();
          for (int64_t i = 0; i < filters; ++i) to[i * taps + at] = from[static_cast<size_t>(i * kernel + tap)];
        }
      }
    }
    return made;
  }

  Model& model_;
  ops::IntegerConv2d layer_;
  Value image_;
  PhaseAxis h_, w_;
};

bool is_stored(Value value) { return !value || (value.is_tensor() && !updater_of(value)); }

bool can_split(const ops::IntegerConv2d& layer) {
  const auto operands = layer.operands();
  const Dims& out = layer.out().dims();
  return layer.groups() == 1 && layer.stride() == Ints{1, 1} && layer.layout() == "channels_first" &&
         layer.w().dtype() == DType::i8 && out[2] > 0 && out[3] > 0 &&
         std::all_of(operands.begin() + 1, operands.end(), is_stored);
}

}  // namespace

void phase_convolutions(Model& model) {
  for (const ops::IntegerConv2d& layer : model.graph.all<ops::IntegerConv2d>()) {
    if (!can_split(layer)) continue;
    if (const auto spread = spread_image(model, layer.x(), static_cast<double>(layer.x_zero_point())))
      Phases(model, layer, *spread).run();
  }
}

}  // namespace halfstep::passes
