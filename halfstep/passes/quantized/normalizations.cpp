#include "halfstep/passes/quantized/normalizations.h"

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/builder_behind.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/errors.h"

namespace halfstep::passes {
namespace {

/// Keeps a tensor of a normalization under its name. Several normalizations may have shared it.
std::string keep(Model& model, const std::pair<std::string, Tensor>& tensor, Role role) {
  if (!model.graph.tensor(tensor.first)) add_tensor(model, tensor.first, tensor.second, role);
  return tensor.first;
}

/// Builds the folded weight and bias from the tensors of a normalization.
class NormOpening {
 public:
  NormOpening(Model& model, const Normalization& norm)
      : model_(model),
        norm_(norm),
        layer_(model.graph.op(norm.layer)),
        builder_(Builder::before(model.graph, model.graph.ops().front())) {
    if (!layer_) fail(errors::normalized_layer_missing(model.graph.name(), norm.layer));
  }

  /// Adds the operators, and records those that compute in float from now on.
  void run(FloatOperators& in_float) {
    const Value factor = ops::div(builder_, {.a = tensor(norm_.scale), .b = deviation(), .name = name("factor")}).out();
    replace(norm_.weight, weight(factor));
    if (norm_.live) {
      normalize(factor, in_float);
    } else {
      replace(norm_.bias, bias(factor));
    }
  }

 private:
  Value tensor(const std::string& name) const { return model_.graph.tensor(name); }
  std::string name(const char* what) const { return norm_.layer + "." + what; }

  void replace(const std::string& old, Value made) {
    if (const Value folded = tensor(old)) folded.replace_all_uses_with(made);
  }

  Value deviation() {
    const Value epsilon =
        add_tensor(model_, name("epsilon"), Tensor::scalar(static_cast<float>(norm_.epsilon)), Role::constant);
    const Value sum = ops::add(builder_, {.a = tensor(norm_.variance), .b = epsilon, .name = name("variance")}).out();
    return ops::sqrt(builder_, {.x = sum, .name = name("deviation")}).out();
  }

  Value reshaped(Value x, Dims dims, const char* what) {
    return ops::reshape(builder_, {.x = x, .dims = std::move(dims), .name = name(what)}).out();
  }

  /// Reshapes to [groups, rows, columns, run], where each group has a factor for each of its columns.
  Value weight(Value factor) {
    const Value raw = tensor(norm_.raw_weight);
    const ChannelLayout layout(raw.dims(), layer_.info().quant.weight_axis, factor.dims()[0]);
    const Value parts = reshaped(raw, {layout.groups, layout.rows, layout.columns, layout.run}, "parts");
    const Value factors = reshaped(factor, {layout.groups, 1, layout.columns, 1}, "factors");
    const Value product = ops::mul(builder_, {.a = parts, .b = factors, .name = name("product")}).out();
    return reshaped(product, raw.dims(), "weight");
  }

  Value bias(Value factor) {
    const Value zero = norm_.raw_bias.empty() ? Value() : tensor(norm_.raw_bias);
    const Value moved = zero ? ops::sub(builder_, {.a = tensor(norm_.mean), .b = zero, .name = name("moved")}).out()
                             : tensor(norm_.mean);
    const Value taken = ops::mul(builder_, {.a = moved, .b = factor, .name = name("taken")}).out();
    return ops::sub(builder_, {.a = tensor(norm_.shift), .b = taken, .name = name("bias")}).out();
  }

  void normalize(Value factor, FloatOperators& in_float) {
    const Value sums = layer_.out(0);
    const std::vector<std::pair<Op, int>> readers = sums.uses();
    layer_.set_operand(layer_.info().quant.bias, {});
    builder_ = builder_behind(model_.graph, sums);
    Dims by_channel(sums.dims().size(), 1);
    by_channel[1] = factor.dims()[0];
    Value x = ops::div(builder_, {.a = sums, .b = reshaped(factor, by_channel, "divisor"), .name = name("sums")}).out();
    if (!norm_.raw_bias.empty()) {
      const Value raw = reshaped(tensor(norm_.raw_bias), by_channel, "raw_bias");
      x = ops::add(builder_, {.a = x, .b = raw, .name = name("raw")}).out();
    }
    const auto normalized = ops::batch_norm(builder_, {.x = x,
                                                       .scale = tensor(norm_.scale),
                                                       .bias = tensor(norm_.shift),
                                                       .mean = tensor(norm_.mean),
                                                       .variance = tensor(norm_.variance),
                                                       .epsilon = norm_.epsilon,
                                                       .momentum = norm_.momentum,
                                                       .is_test = false,
                                                       .name = name("normalized")});
    const std::string reason = "training normalizes by the statistics of a batch";
    for (const Value made : {sums, x, normalized.out()}) in_float.emplace(made.producer().name(), reason);
    if (!norm_.raw_bias.empty()) in_float.emplace(name("sums"), reason);
    for (const auto& [reader, operand] : readers) {
      reader.set_operand(operand, normalized.out());
      if (has_trait(reader, Trait::fuses_into_producer)) in_float.emplace(reader.name(), reason);
    }
  }

  Model& model_;
  const Normalization& norm_;
  Op layer_;
  Builder builder_;
};

}  // namespace

void keep_normalizations(Model& model, const std::vector<FoldedNorm>& folded, bool live) {
  std::vector<Normalization> all;
  for (const FoldedNorm& one : folded) {
    Normalization norm{.layer = one.layer, .weight = one.weight, .bias = one.bias, .live = live};
    norm.epsilon = one.epsilon;
    norm.momentum = one.momentum;
    const auto raw = [&](const std::string& name, const Tensor& contents) {
      return add_tensor(model, name + ".raw", contents, Role::parameter).name();
    };
    norm.raw_weight = raw(one.weight, one.raw_weight);
    if (one.raw_bias.defined()) norm.raw_bias = raw(one.bias, one.raw_bias);
    norm.scale = keep(model, one.scale, Role::parameter);
    norm.shift = keep(model, one.shift, Role::parameter);
    norm.mean = keep(model, one.mean, Role::state);
    norm.variance = keep(model, one.variance, Role::state);
    for (const std::string& made : {one.weight, one.bias}) model.graph.tensor(made).node()->role = Role::state;
    all.push_back(std::move(norm));
  }
  model.metadata.normalizations = std::move(all);
}

void settle_normalizations(Model& model) {
  for (const Normalization& norm : model.metadata.normalizations) {
    const auto contents = [&](const std::string& name) { return model.tensors.at(name); };
    const ChannelAffine affine = norm_affine(contents(norm.scale), contents(norm.shift), contents(norm.mean),
                                             contents(norm.variance), norm.epsilon);
    const int axis = model.graph.op(norm.layer).info().quant.weight_axis;
    model.tensors.at(norm.weight) = folded_weight(contents(norm.raw_weight), affine, axis);
    model.tensors.at(norm.bias) = folded_bias(norm.raw_bias.empty() ? Tensor() : contents(norm.raw_bias), affine);
  }
}

void close_normalizations(Model& model) {
  settle_normalizations(model);
  for (const Normalization& norm : model.metadata.normalizations) {
    for (const std::string& folded : {norm.weight, norm.bias})
      model.graph.tensor(folded).node()->role = Role::parameter;
    for (const std::string& name : {norm.raw_weight, norm.raw_bias, norm.scale, norm.shift, norm.mean, norm.variance}) {
      const Value tensor = name.empty() ? Value() : model.graph.tensor(name);
      if (tensor && tensor.unused()) erase_tensor(model, tensor);
    }
  }
  model.metadata.normalizations.clear();
}

void open_normalizations(Model& model) {
  for (const Normalization& norm : model.metadata.normalizations)
    NormOpening(model, norm).run(model.metadata.float_operators);
}

}  // namespace halfstep::passes
