#include "halfstep/passes/quantized/transposed_again.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rearranged.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/spread_image.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"

namespace halfstep::passes {
namespace {

using Ints = std::vector<int64_t>;

/// The name in front of the ending that spatial_forms gives a weight.
std::string first_name(const std::string& name) { return name.substr(0, name.rfind(".flipped")); }

class TransposedAgain {
 public:
  explicit TransposedAgain(Model& model) : model_(model) {}

  void run() {
    for (const ops::Conv2d& conv : model_.graph.all<ops::Conv2d>()) {
      if (conv.groups() != 1 || conv.stride() != Ints{1, 1} || !stored_weight(conv)) continue;
      const auto crop = crop_of(conv.x());
      if (const auto image = spread_image(model_, crop ? crop->x() : conv.x(), 0))
        replace_layer(conv, crop ? crop->pads() : Ints(4, 0), *image);
    }
  }

 private:
  /// The tensor of the weight, behind a quantizer or not. Null for a computed weight.
  static Value stored_weight(const ops::Conv2d& conv) {
    const auto quantizer = conv.w().producer<ops::FakeQuantize>();
    const Value weight = quantizer ? quantizer->x() : conv.w();
    return weight.is_tensor() ? weight : Value();
  }

  /// The operator that removes elements at the ends of both axes of an image.
  static std::optional<ops::Pad> crop_of(Value x) {
    const auto pad = x.producer<ops::Pad>();
    const bool crops =
        pad && pad->axes() == Ints{2, 3} && std::ranges::all_of(pad->pads(), [](int64_t n) { return n <= 0; });
    return crops ? pad : std::nullopt;
  }

  void replace_layer(const ops::Conv2d& conv, const Ints& crop, const SpreadImage& spread) {
    Ints pad = conv.pad();
    std::ranges::transform(pad, crop, pad.begin(), std::plus());
    const Ints& dilation = conv.dilation();
    Ints before, after, more;
    for (size_t i = 0; i < 2; ++i) {
      const int64_t reach = dilation[i] * (conv.w().dims()[i + 2] - 1);
      const int64_t end = reach - pad[i + 2] - (spread.strides[i] - 1);
      before.push_back(reach - pad[i]);
      after.push_back(std::max<int64_t>(end, 0));
      more.push_back(std::max<int64_t>(-end, 0));
    }
    before.insert(before.end(), after.begin(), after.end());
    const Value spread_x = conv.x(), old = stored_weight(conv), w = weight(conv);
    replace(model_.graph, conv,
            insert_before(model_.graph, conv, ops::ConvTranspose::record(), {spread.image, w, conv.b()},
                          {{"stride", Ints(spread.strides.begin(), spread.strides.end())},
                           {"dilation", dilation},
                           {"pad", before},
                           {"output_padding", more}}));
    erase_unread(spread_x);
    if (old.unused()) erase_tensor(model_, old);
  }

  /// The weight in its own layout, behind its quantizer or not.
  Value weight(const ops::Conv2d& conv) {
    const Value old = stored_weight(conv);
    const Value made =
        add_tensor(model_, first_name(old.name()),
                   rearranged(model_.tensors.at(old.name()), {1, 0, 2, 3}, {false, false, true, true}), old.role());
    const auto quantizer = conv.w().producer<ops::FakeQuantize>();
    if (!quantizer) return made;
    for (const auto& [user, operand] : scale_tensor(*quantizer).uses()) {
      if (has_trait(user, Trait::observer)) read(user, old, made);
    }
    read(*quantizer, old, made);
    return quantizer->out();
  }

  /// Lets a quantizer or an observer of weights read `made` instead of `old`.
  static void read(Op op, Value old, Value made) {
    Attributes attributes = op.attributes();
    if (get<int64_t>(attributes, "axis") >= 0) attributes["axis"] = int64_t{1};
    for (size_t i = 0; i < op.operands().size(); ++i) {
      if (op.operands()[i] == old) op.set_operand(static_cast<int>(i), made);
    }
    op.set_attributes(attributes);
  }

  void erase_unread(Value value) {
    while (value.producer() && value.unused()) {
      const Op op = value.producer();
      value = op.in(0);
      model_.graph.erase(op);
    }
  }

  Model& model_;
};

}  // namespace

bool returns_again(Op layer) {
  if (!layer.is<ops::ConvTranspose>() || layer.in(0).dims().size() != 4) return false;
  if (layer.in(0).dims()[2] == kUnknown || layer.in(0).dims()[3] == kUnknown) return false;
  const ops::ConvTranspose transposed(layer.node());
  return transposed.groups() == 1 &&
         std::ranges::any_of(transposed.stride(), [](int64_t stride) { return stride > 1; });
}

void transposed_again(Model& model) { TransposedAgain(model).run(); }

}  // namespace halfstep::passes
