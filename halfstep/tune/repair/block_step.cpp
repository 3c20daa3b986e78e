#include "halfstep/tune/repair/block_step.h"

#include <algorithm>
#include <set>

#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/tune/repair/layers.h"

namespace halfstep::repair {
namespace {

/// Relative change of a step size for a change of a rounding by 1.
constexpr float kStepRate = 0.1F;

int64_t quantizers_with(const Model& part, Value scale) {
  return std::ranges::count_if(part.graph.all<ops::FakeQuantize>(), [&](const ops::FakeQuantize& quantizer) {
    return passes::scale_tensor(quantizer) == scale;
  });
}

/// Whether an optimizer may change the scale: only this block reads it, and it need not be a power of two.
bool may_learn(const Model& part, const ops::FakeQuantize& quantizer, const std::map<std::string, int64_t>& counts) {
  const Value scale = passes::scale_tensor(quantizer);
  const auto count = counts.find(scale.name());
  return count != counts.end() && count->second == quantizers_with(part, scale);
}

class StepBuilder {
 public:
  StepBuilder(Model step, const LearningBlock& block, const Learning& learning)
      : step_(std::move(step)), block_(block), learning_(learning), builder_(step_.graph) {}

  Model run(const std::map<std::string, double>& spreads) {
    std::vector<passes::Seed> seeds = slopes(spreads);
    const std::vector<std::string> choices = block_.choices();
    if (!choices.empty()) seeds.push_back({decision(choices), constant("decision.grad", 1)});
    std::vector<std::string> parameters = choices;
    parameters.insert(parameters.end(), block_.scales.begin(), block_.scales.end());
    passes::OptimizerSpec spec{.kind = passes::OptimizerSpec::Kind::adam};
    for (const std::string& scale : block_.scales) {
      Tensor unit = step_.tensors.at(scale).clone();
      for (float& one : unit.data<float>()) one *= kStepRate;
      spec.unit.emplace(scale, std::move(unit));
      spec.positive.insert(scale);
    }
    const passes::Gradients gradients = passes::autodiff(step_, seeds, parameters);
    std::erase_if(spec.unit, [&](const auto& unit) { return !gradients.of.contains(unit.first); });
    passes::add_optimizer(step_, gradients, spec);
    step_.graph.set_outputs({}, {});
    return std::move(step_);
  }

  /// Replaces random elements of the block's inputs by their float values.
  void mix_inputs(double keep) {
    int64_t number = 0;
    const std::vector<Value> inputs = step_.graph.arguments();  // a copy, because the loop adds arguments
    for (const Value input : inputs) {
      if (input.dtype() != DType::f32) continue;
      const Value real = passes::add_argument(step_.graph, real_argument(input.name()), input.type());
      const Value count = passes::add_tensor(step_, input.name() + ".step", Tensor(DType::i64, {1}), Role::state);
      const auto readers = input.uses();
      Builder first = Builder::before(step_.graph, step_.graph.ops().front());
      const Value mixed = ops::drop_quantized(first, {.x = real,
                                                      .quantized = input,
                                                      .step = count,
                                                      .keep = keep,
                                                      .seed = kInputs + number++,
                                                      .is_test = false,
                                                      .name = input.name() + ".mixed"})
                              .out();
      for (const auto& [reader, operand] : readers) reader.set_operand(operand, mixed);
    }
  }

 private:
  static constexpr int64_t kInputs = int64_t{1} << 32;  ///< separates these seeds from the seeds of quantizers in the
                                                        ///< block

  Value constant(const char* name, float value) {
    return passes::add_tensor(step_, name, Tensor::scalar(value), Role::constant);
  }

  /// The gradient of the loss at the outputs. The loss of an output is the squared difference, summed over channels and
  /// averaged over samples and positions, in units of its spread. The loss itself is not needed.
  std::vector<passes::Seed> slopes(const std::map<std::string, double>& spreads) {
    const std::vector<Value> outputs = step_.graph.outputs();
    const std::vector<std::string> names = step_.graph.body().output_names();
    std::vector<passes::Seed> seeds;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto spread = spreads.find(names[i]);
      if (spread == spreads.end()) continue;
      const Value target = passes::add_argument(step_.graph, target_argument(names[i]), outputs[i].type());
      Value difference = ops::sub(builder_, {.a = outputs[i], .b = target}).out();
      if (learning_.weighs) {
        const Value importance = passes::add_argument(step_.graph, importance_argument(names[i]), outputs[i].type());
        difference = ops::mul(builder_, {.a = difference, .b = importance}).out();
      }
      const Dims& dims = outputs[i].dims();
      const double channels = dims.size() < 2 ? 1.0 : static_cast<double>(dims[1]);
      const double all = static_cast<double>(std::max<int64_t>(1, count_elements(dims)));
      const Value factor =
          constant("slope.factor", static_cast<float>(2 * channels / all / (spread->second * spread->second)));
      seeds.push_back({outputs[i], ops::mul(builder_, {.a = difference, .b = factor}).out()});
    }
    return seeds;
  }

  /// The regularizer of undecided roundings: the sum of 1 - abs(2 h - 1)^beta over all weights (AdaRound, equation 24).
  Value decision(const std::vector<std::string>& choices) {
    const Value sharpness = passes::add_argument(step_.graph, kSharpness, {DType::f32, {1}});
    const Value weight = passes::add_argument(step_.graph, kDecision, {DType::f32, {1}});
    const Value one = constant("one", 1), two = constant("two", 2), zero = constant("zero", 0),
                stretch = constant("stretch", 1.2F), below = constant("below", 0.1F), tiny = constant("tiny", 1e-6F);
    Value sum;
    for (const std::string& name : choices) {
      const Value choice = step_.graph.tensor(name);
      const Value sigmoid = ops::sigmoid(builder_, {.x = choice}).out();
      const Value wide = ops::mul(builder_, {.a = sigmoid, .b = stretch}).out();
      const Value lowered = ops::sub(builder_, {.a = wide, .b = below}).out();
      const Value h = ops::learned_clip(builder_, {.x = lowered, .high = one, .low = zero}).out();
      const Value twice = ops::mul(builder_, {.a = h, .b = two}).out();
      const Value centred = ops::sub(builder_, {.a = twice, .b = one}).out();
      const Value size = ops::add(builder_, {.a = ops::abs(builder_, {.x = centred}).out(), .b = tiny}).out();
      const Value exponent = ops::mul(builder_, {.a = ops::log(builder_, {.x = size}).out(), .b = sharpness}).out();
      const Value decided = ops::exp(builder_, {.x = exponent}).out();
      const Value open = ops::sub(builder_, {.a = one, .b = decided}).out();
      const Value flat = ops::reshape(builder_, {.x = open, .dims = {1, -1}}).out();
      const Value term = ops::reduce_sum(builder_, {.x = flat, .axes = {1}}).out();
      sum = sum ? ops::add(builder_, {.a = sum, .b = term}).out() : term;
    }
    return ops::mul(builder_, {.a = sum, .b = weight}).out();
  }

  Model step_;
  const LearningBlock& block_;
  const Learning& learning_;
  Builder builder_;
};

}  // namespace

std::string target_argument(const std::string& output) { return "target." + output; }
std::string importance_argument(const std::string& output) { return "importance." + output; }
std::string real_argument(const std::string& input) { return "real." + input; }

bool LearningBlock::learns() const { return !scales.empty() || !part.metadata.learned_quantizers.empty(); }

std::vector<std::string> LearningBlock::choices() const {
  std::vector<std::string> names;
  for (const LearnedQuantizer& one : part.metadata.learned_quantizers) {
    if (!one.choice.empty()) names.push_back(one.choice);
  }
  return names;
}

LearningBlock learning_block(Model part, const Learning& learning, const std::map<std::string, int64_t>& counts) {
  LearningBlock block{std::move(part), {}};
  Model& model = block.part;
  for (const Layer& layer : layers_of(model)) {
    if (learning.rounds_weights && layer.quantizer)
      passes::keep_quantizer(model, layer.quantizer, QuantizerKind::adaround, 0);
  }
  for (const auto& quantizer : model.graph.all<ops::FakeQuantize>()) {
    const Value scale = passes::scale_tensor(quantizer);
    const bool of_weight = quantizer.x().is_tensor();
    if (!learning.learns_steps || (of_weight && learning.rounds_weights) || !may_learn(model, quantizer, counts))
      continue;
    scale.node()->role = Role::parameter;
    if (std::ranges::find(block.scales, scale.name()) == block.scales.end()) block.scales.push_back(scale.name());
  }
  if (learning.keep < 1) {
    std::set<std::string> dropped;
    for (const auto& quantizer : model.graph.all<ops::FakeQuantize>()) {
      if (!quantizer.x().is_tensor() && dropped.insert(passes::scale_tensor(quantizer).name()).second)
        passes::keep_quantizer(model, quantizer, QuantizerKind::qdrop, learning.keep);
    }
  }
  passes::start_quantizers(model);
  return block;
}

Model block_step(const LearningBlock& block, const Learning& learning, const std::map<std::string, Dims>& extents,
                 const std::map<std::string, double>& spreads) {
  Model step = specialize(block.part, extents);
  passes::open_quantizers(step);
  for (const auto& rounding : step.graph.all<ops::AdaptiveRound>()) rounding.set_attributes({{"hard", false}});
  if (!learning.rounds_activations) passes::bypass_quantizers(step);
  StepBuilder builder(std::move(step), block, learning);
  if (learning.keep < 1) builder.mix_inputs(learning.keep);
  return builder.run(spreads);
}

Model learned_part(const LearningBlock& block, const std::map<std::string, Tensor>& tensors) {
  Model part = block.part;
  for (auto& [name, tensor] : part.tensors) {
    if (const auto found = tensors.find(name); found != tensors.end()) tensor = found->second;
  }
  passes::close_quantizers(part);
  return part;
}

}  // namespace halfstep::repair
