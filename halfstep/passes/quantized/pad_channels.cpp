#include "halfstep/passes/quantized/pad_channels.h"

#include <algorithm>
#include <map>
#include <optional>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/layer_tail.h"
#include "halfstep/passes/graph/stored_numbers.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"
#include "halfstep/passes/quantized/errors.h"

namespace halfstep::passes {
namespace {

constexpr size_t kRank = 4;

int64_t channels_of(Value image) { return image.dims()[1]; }

/// Whether the operator is a convolution whose channels can grow. Weights of a transposed one are [in, out, ...].
bool is_convolution(Op op) {
  if (op.is<ops::ConvTranspose>())
    return op.in(0).dims().size() == kRank && ops::ConvTranspose(op.node()).groups() == 1;
  return op.is<ops::Conv2d>();
}

int64_t groups_of(Op conv) { return get<int64_t>(conv.attributes(), "groups"); }
Value weight_of(Op conv) { return conv.in(conv.info().quant.weight); }
Value bias_of(Op conv) { return conv.in(conv.info().quant.bias); }

bool has_tensors(Op conv) {
  const Value w = weight_of(conv), b = bias_of(conv);
  return w.is_tensor() && w.dtype() == DType::f32 && (!b || b.is_tensor());
}

/// Returns the number of groups, with unchanged channels per group, that satisfies the rule. Returns nothing if there
/// is none.
std::optional<int64_t> padded_groups(Op conv, const ChannelRule& rule) {
  if (groups_of(conv) == 1) return 1;
  const int64_t ins = channels_of(conv.in(0)), outs = channels_of(conv.out(0));
  const int64_t in = ins / groups_of(conv), out = outs / groups_of(conv);
  const int64_t groups = round_up(ins, rule.multiple) / in;
  const bool fits = groups * in == round_up(ins, rule.multiple) && groups * out == round_up(outs, rule.multiple);
  return fits ? std::optional(groups) : std::nullopt;
}

/// Returns a tensor of `dims` filled with `fill`, with `from` at the beginning of its first two axes.
Tensor with_room(const Tensor& from, const Dims& dims, float fill) {
  Tensor to(from.dtype(), dims);
  std::ranges::fill(to.data<float>(), fill);
  const auto src = from.data<float>();
  const auto run = static_cast<size_t>(count_elements(std::span(from.dims()).subspan(1)));
  const auto step = static_cast<size_t>(count_elements(std::span(dims).subspan(1)));
  for (size_t i = 0; i < static_cast<size_t>(from.dims()[0]); ++i)
    std::copy_n(src.begin() + static_cast<ptrdiff_t>(i * run), run,
                to.data<float>().begin() + static_cast<ptrdiff_t>(i * step));
  return to;
}

class Padding {
 public:
  Padding(Model& model, const ChannelRule& rule, const std::set<std::string>& layers)
      : model_(model), rule_(rule), layers_(layers) {}

  std::vector<std::string> run() {
    for (const Op op : model_.graph.ops()) {
      if (!is_convolution(op) || !layers_.contains(op.name())) continue;
      if (!has_tensors(op)) fail(errors::padded_weight_computed(op.where()));
      want(op.in(0));
      wanted_.insert(op.out(0).node());
    }
    for (const Op op : model_.graph.ops()) {
      if (is_convolution(op)) {
        pad(op);
      } else if ((carries(op) || is_factor(op)) && (is_wanted(op) || reads_wide(op))) {
        widen(op);
      }
    }
    for (auto made = slices_.rbegin(); made != slices_.rend(); ++made) {
      if (made->out(0).unused()) model_.graph.erase(*made);
    }
    return std::move(padded_);
  }

 private:
  int64_t padded(int64_t channels) const { return round_up(channels, rule_.multiple); }
  bool is_wanted(Op op) const { return op.results().size() == 1 && wanted_.contains(op.out(0).node()); }

  /// An operator after a padded convolution is widened too, so that an activation can still fuse into it.
  bool reads_wide(Op op) const {
    return std::ranges::all_of(images(op), [&](int port) { return wide_.contains(op.in(port).node()); });
  }

  /// Marks a value that a padded convolution reads, so that its producer is widened if possible.
  void want(Value value) {
    if (!wanted_.insert(value.node()).second) return;
    const Op op = value.producer();
    if (op && is_convolution(op)) {
      if (groups_of(op) != 1) want(op.in(0));
    } else if (op && (carries(op) || is_factor(op))) {
      for (const int port : images(op)) want(op.in(port));
    }
  }

  static bool is_image(Value value) { return value.dtype() == DType::f32 && value.dims().size() == kRank; }

  /// Returns the port of the operand with a stored number for each channel, or -1. Applies to sums, differences,
  /// products and quotients.
  int stored_port(Op op) const {
    if (!op.is<ops::Add, ops::Sub, ops::Mul, ops::Div>()) return -1;
    for (const int port : {1, 0}) {
      if (port == 0 && op.is<ops::Div>()) break;  // a dividend of added zeros is not supported
      if (numbers_by_channel(model_, op.in(port), op.out(0).dims(), 1)) return port;
    }
    return -1;
  }

  /// Returns the ports of operands whose channels are those of the result.
  std::vector<int> images(Op op) const {
    if (const int stored = stored_port(op); stored >= 0) return {1 - stored};
    return op.is<ops::Add, ops::Mul>() ? std::vector<int>{0, 1} : std::vector<int>{0};
  }

  /// Whether zeros in added channels of the images result in zeros in added channels, and change no other channel.
  bool carries(Op op) const {
    if (op.results().size() != 1 || !is_image(op.out(0))) return false;
    const auto fits = [&](int port) {
      const Value v = op.in(port);
      return !v.is_tensor() && is_image(v) && channels_of(v) == channels_of(op.out(0));
    };
    if (!std::ranges::all_of(images(op), fits)) return false;
    if (op.is<ops::BatchNorm>()) {
      const auto operands = op.operands();
      return ops::BatchNorm(op.node()).is_test() &&
             std::all_of(operands.begin() + 1, operands.end(), [](Value v) { return v.is_tensor(); });
    }
    return has_trait(op, Trait::fuses_into_producer) || stored_port(op) >= 0 ||
           op.is<ops::Add, ops::Mul, ops::Silu, ops::MaxPool2d, ops::AvgPool2d, ops::GlobalAvgPool, ops::InputNop,
                 ops::OutputNop>();
  }

  /// Whether the result is a function of one image that only multiplies images, as in x * sigmoid(x). Added channels of
  /// such a factor may have any numbers, because zeros are multiplied by them.
  bool is_factor(Op op) const { return is_factor_function(op) && ends_in_products(op.out(0)); }

  /// Whether the function is finite at 0.
  static bool is_factor_function(Op op) {
    return op.is<ops::Sigmoid, ops::HardSigmoid, ops::Tanh, ops::Softplus, ops::Clip, ops::HardTanh>() &&
           is_image(op.out(0)) && !op.in(0).is_tensor() && channels_of(op.in(0)) == channels_of(op.out(0));
  }

  bool is_product(Op op) const { return op.is<ops::Mul>() && stored_port(op) < 0 && carries(op); }

  bool ends_in_products(Value value) const {
    return !value.unused() && !is_output(value) && std::ranges::all_of(value.uses(), [&](const auto& use) {
      const Op user = use.first;
      if (is_product(user)) return true;
      return (is_factor_function(user) || (stored_port(user) >= 0 && carries(user))) && ends_in_products(user.out(0));
    });
  }

  void pad(Op conv) {
    const auto groups = padded_groups(conv, rule_);
    if (!is_wanted(conv) || !has_tensors(conv) || !groups) return;
    const bool needs_wide = groups_of(conv) != 1 || layers_.contains(conv.name());
    const size_t outputs = conv.is<ops::ConvTranspose>() ? 1 : 0;
    const Value w = weight_of(conv), b = bias_of(conv);
    Dims dims = w.dims();
    dims[outputs] = padded(dims[outputs]);
    if (groups_of(conv) == 1 && needs_wide) dims[1 - outputs] = padded(dims[1 - outputs]);
    if (dims != w.dims()) padded_.push_back(conv.name());
    const Value x = needs_wide ? wide(conv.in(0), conv) : conv.in(0);
    std::vector<Value> operands = {x, padded_tensor(w, dims, 0), b};
    if (b) operands[2] = padded_tensor(b, {dims[outputs]}, 0);
    Attributes attributes = conv.attributes();
    attributes["groups"] = *groups;
    replace(conv, std::move(operands), std::move(attributes));
  }

  void widen(Op op) {
    std::vector<Value> operands = op.operands();
    bool takes_any = is_product(op) || is_factor(op) || (stored_port(op) >= 0 && ends_in_products(op.out(0)));
    bool has_any = false;
    for (const int port : images(op)) {
      operands[static_cast<size_t>(port)] = wide(op.in(port), op, takes_any);
      if (!any_.contains(operands[static_cast<size_t>(port)].node())) continue;
      has_any = true;
      takes_any = takes_any && !is_product(op);  // the other factor has zeros
    }
    if (const int stored = stored_port(op); stored >= 0)
      operands[static_cast<size_t>(stored)] = padded_numbers(op.in(stored), op);
    if (op.is<ops::BatchNorm>()) {
      constexpr size_t kVariance = 4;
      for (size_t i = 1; i <= kVariance; ++i)
        operands[i] = padded_tensor(operands[i], {padded(operands[i].dims()[0])}, i == kVariance ? 1.0F : 0.0F);
    }
    const bool gives_any = is_factor(op) || (has_any && !is_product(op));
    const Value made = replace(op, std::move(operands), op.attributes());
    if (gives_any) any_.insert(made.node());
  }

  /// Returns the tensor with more elements along its first axes. Makes a new tensor if it has other readers.
  Value padded_tensor(Value tensor, const Dims& dims, float fill) {
    if (tensor.dims() == dims) return tensor;
    Tensor contents = with_room(model_.tensors.at(tensor.name()), dims, fill);
    if (!tensor.has_one_use()) return add_tensor(model_, tensor.name() + ".padded", std::move(contents), tensor.role());
    model_.graph.set_type(tensor, contents.type());
    model_.tensors.insert_or_assign(tensor.name(), std::move(contents));
    return tensor;
  }

  /// Returns numbers for added channels that keep zeros there.
  Value padded_numbers(Value value, Op op) {
    const int64_t channels = channels_of(op.out(0));
    if (padded(channels) == channels) return value;
    const auto numbers = *numbers_by_channel(model_, value, op.out(0).dims(), 1);
    Tensor contents(DType::f32, {1, channels, 1, 1});
    std::ranges::transform(numbers, contents.data<float>().begin(), [](double one) { return static_cast<float>(one); });
    contents = with_room(contents.reshaped({channels, 1}), {padded(channels), 1}, op.is<ops::Div>() ? 1 : 0);
    const Role role = value.is_tensor() ? value.role() : Role::parameter;
    return add_tensor(model_, value.name() + ".padded", contents.reshaped({1, padded(channels), 1, 1}), role);
  }

  /// Returns the image with added channels for `reader`. Their numbers are zeros, or any if `takes_any`.
  Value wide(Value image, Op reader, bool takes_any = false) {
    const int64_t more = padded(channels_of(image)) - channels_of(image);
    if (more == 0) return image;
    if (const auto found = wide_.find(image.node());
        found != wide_.end() && (takes_any || !any_.contains(found->second.node())))
      return found->second;
    const Op made = model_.graph.insert({&ops::Pad::record(),
                                         {image, {}},
                                         {{"pads", std::vector<int64_t>{0, more}}, {"axes", std::vector<int64_t>{1}}},
                                         image.name() + "_wide",
                                         reader.location()},
                                        nullptr, reader);
    return wide_[image.node()] = made.out(0);
  }

  /// Inserts the wider operation. Readers that cannot take more channels get a slice of its result.
  Value replace(Op op, std::vector<Value> operands, Attributes attributes) {
    const std::string name = op.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
    const Op made =
        model_.graph.insert({&op.info(), std::move(operands), std::move(attributes), name, op.location()}, nullptr, op);
    Value same = made.out(0);
    if (made.out(0).type() != op.out(0).type()) {
      const int64_t channels = channels_of(op.out(0));
      slices_.push_back(model_.graph.insert({&ops::Slice::record(),
                                             {made.out(0)},
                                             {{"starts", std::vector<int64_t>{0}},
                                              {"ends", std::vector<int64_t>{channels}},
                                              {"axes", std::vector<int64_t>{1}}},
                                             name + "_narrow",
                                             op.location()},
                                            nullptr, op));
      same = slices_.back().out(0);
      wide_[same.node()] = made.out(0);
    }
    op.out(0).replace_all_uses_with(same);
    const std::vector<Value> read = op.operands();
    model_.graph.erase(op);
    for (const Value operand : read) {
      if (operand && (operand.is_tensor() || stored_numbers(model_, operand))) erase_unread(model_, operand);
    }
    model_.graph.rename(made, name);
    return made.out(0);
  }

  Model& model_;
  const ChannelRule& rule_;
  const std::set<std::string>& layers_;
  std::set<const detail::ValueNode*> wanted_;       ///< values that padded convolutions read or produce
  std::map<const detail::ValueNode*, Value> wide_;  ///< widened form by image
  std::set<const detail::ValueNode*> any_;          ///< widened images whose added channels are not zero
  std::vector<Op> slices_;
  std::vector<std::string> padded_;
};

}  // namespace

bool misses_channels(Op op, const ChannelRule& rule) {
  if (!op.is<ops::Conv2d>() || channels_of(op.in(0)) <= rule.above) return false;
  return channels_of(op.in(0)) % rule.multiple != 0 || channels_of(op.out(0)) % rule.multiple != 0;
}

bool can_pad_channels(Op op, const ChannelRule& rule) {
  return is_convolution(op) && padded_groups(op, rule).has_value();
}

std::vector<std::string> pad_channels(Model& model, const ChannelRule& rule, const std::set<std::string>& layers) {
  return Padding(model, rule, layers).run();
}

}  // namespace halfstep::passes
