#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/random.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/gradient/optimizer.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/tune/repair/block_checkpoint.h"
#include "halfstep/tune/repair/block_step.h"
#include "halfstep/tune/repair/chain.h"
#include "halfstep/tune/repair/importance.h"
#include "halfstep/tune/repair/layers.h"

namespace halfstep::repair {
namespace {

// The schedule of AdaRound (Nagel et al., ICML 2020), which later papers use too. The first fifth of the steps has no
// regularizer. Then beta decreases from 20 to 2.
constexpr double kWarmup = 0.2, kFirstSharpness = 20, kLastSharpness = 2, kDecisionWeight = 0.01;
constexpr double kRate = 0.01;  ///< learning rate of Adam

/// Number of quantizers by scale, for scales that an optimizer may change.
std::map<std::string, int64_t> movable_scales(const Model& prepared) {
  const passes::QuantizerKinds kinds(prepared);
  std::map<std::string, int64_t> counts;
  for (const auto& quantizer : prepared.graph.all<ops::FakeQuantize>()) {
    const Value scale = passes::scale_tensor(quantizer);
    const QuantizerKind kind = kinds.of(quantizer);
    const bool any_size = quantizer.scale() != scale || !quant::observer_of(quantizer).power_of_two();
    const bool is_plain = kind == QuantizerKind::fixed || kind == QuantizerKind::lsq || kind == QuantizerKind::qdrop;
    if (any_size && is_plain) ++counts[scale.name()];
  }
  return counts;
}

double spread_of(const Store& store) {
  constexpr int64_t kAtOnce = 64;
  double sum = 0, squares = 0;
  int64_t count = 0;
  for (int64_t begin = 0; begin < store.size(); begin += kAtOnce) {
    const Tensor rows = store.rows(begin, std::min(begin + kAtOnce, store.size()));
    for (const float element : rows.data<float>()) {
      const double value{element};
      sum += value;
      squares += value * value;
    }
    count += rows.size();
  }
  const double mean = sum / static_cast<double>(count);
  const double spread = std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean * mean));
  return spread > 0 ? spread : 1;
}

/// Mean squared difference in units of spread, summed over f32 values.
double distance(const Stores& stores, const Stores& targets) {
  constexpr int64_t kAtOnce = 64;
  double distance = 0;
  for (const auto& [name, target] : targets) {
    double sum = 0;
    int64_t count = 0;
    for (int64_t begin = 0; begin < target->size(); begin += kAtOnce) {
      const int64_t end = std::min(begin + kAtOnce, target->size());
      const Tensor wanted = target->rows(begin, end), found = stores.at(name)->rows(begin, end);
      if (wanted.dtype() != DType::f32) break;
      const auto a = wanted.data<float>(), b = found.data<float>();
      for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
      count += wanted.size();
    }
    const double spread = count > 0 ? spread_of(*target) : 1;
    if (count > 0) distance += sum / static_cast<double>(count) / (spread * spread);
  }
  return distance;
}

class Learner {
 public:
  Learner(const State& state, const RepairContext& context, const Learning& learning)
      : context_(context),
        learning_(learning),
        room_(context.options.memory),
        batch_(data::batch_of(state.reference, std::min(context.options.batch, context.samples.size()))),
        // Blocks come from a network in evaluation mode, with quantizers in their final form.
        network_(settled(state.reference)),
        result_(state.reference),
        blocks_(blocks_of(network_, learning.grain)),
        scales_(movable_scales(state.reference)),
        checkpoints_(context.options, learning.name, state.reference, context.samples, context.calibration.seed) {}

  Change run() {
    in_float_ = stored_inputs(context_.samples, batch_, room_);
    quantized_ = in_float_;
    for (number_ = 0; number_ < blocks_.size(); ++number_) take(blocks_[number_]);
    if (nearer_ == 0)
      return {{},
              fmt::format("{1} of {0} blocks can learn, and none came closer to its float form{2}", blocks_.size(),
                          learned_, refused_)};
    return {State{result_, result_},
            fmt::format("learned {} blocks one after the other, {} steps each on {} of {} samples; {} came closer to "
                        "their float form, to {:.0f} % of the squared distance in the geometric mean{}",
                        learned_, context_.options.steps, batch_, context_.samples.size(), nearer_,
                        100 * std::exp(ratios_ / static_cast<double>(nearer_)), refused_)};
  }

 private:
  static Model settled(const Model& prepared) {
    Model network = simulated(prepared);
    network.metadata = {};
    return network;
  }

  void take(const Block& block) {
    const Model part = part_of(network_, block);
    Model in_float = part;
    passes::bypass_quantizers(in_float);
    Stores targets = run_part(in_float, in_float_, batch_, room_, context_.pool);
    LearningBlock learning = learning_block(part, learning_, scales_);
    Stores given = run_quantized(part);
    if (learning.learns()) {
      try {
        const Model learned = learn_block(block, learning, targets);
        take_if_nearer(learned, targets, given);
      } catch (const Error& refusal) {
        if (refusal.kind() != ErrorKind::unsupported) throw;
        refused_ += fmt::format("; {}: {}", block.name, refusal.what());
      }
    }
    in_float_.merge(targets);
    quantized_.merge(given);
    forget();
  }

  /// Runs a part with its quantizers. Quantizes activations only if they are quantized while weights are learned.
  Stores run_quantized(Model part) {
    for (const auto& quantizer : part.graph.all<ops::FakeQuantize>()) {
      if (learning_.rounds_activations || quantizer.x().is_tensor()) continue;
      quantizer.out().replace_all_uses_with(quantizer.x());
      part.graph.erase(quantizer);
    }
    return run_part(part, quantized_, batch_, room_, context_.pool);
  }

  /// Keeps a learned block only if its distance to the float block decreased. NaN does not count as a decrease.
  void take_if_nearer(const Model& learned, const Stores& targets, Stores& given) {
    Stores now = run_quantized(learned);
    const double before = distance(given, targets), after = distance(now, targets);
    ++learned_;
    if (!(after < before)) return;
    ++nearer_;
    ratios_ += std::log(after / before);
    given = std::move(now);
    for (const auto& [name, tensor] : learned.tensors) {
      if (const auto known = result_.tensors.find(name); known != result_.tensors.end()) known->second = tensor;
    }
  }

  /// Drops values that no later block reads.
  void forget() {
    std::set<std::string> read;
    for (size_t i = number_ + 1; i < blocks_.size(); ++i) {
      for (const Value input : blocks_[i].inputs) read.insert(input.name());
    }
    for (Stores* stores : {&in_float_, &quantized_})
      std::erase_if(*stores, [&](const auto& entry) { return !read.contains(entry.first); });
  }

  Model learn_block(const Block& block, const LearningBlock& learning, const Stores& targets) {
    if (auto known = checkpoints_.load(number_, learning.part)) return std::move(*known);
    std::map<std::string, double> spreads;
    for (const Value output : block.outputs) {
      if (output.dtype() == DType::f32) spreads[output.name()] = spread_of(*targets.at(output.name()));
    }
    Stores importance;
    if (learning_.weighs) importance = importance_behind(targets);
    CompileOptions options;
    options.freeze_tensors = false;
    runtime::Program program = compile(block_step(learning, learning_, extents(learning.part), spreads), options);
    for (int64_t step = 0; step < context_.options.steps; ++step) {
      run_step(program, block, learning, targets, importance, step);
      report(step, block.name);
    }
    Model part = learned_part(learning, program.tensors());
    checkpoints_.save(number_, part);
    return part;
  }

  std::map<std::string, Dims> extents(const Model& part) const {
    std::map<std::string, Dims> extents;
    for (const Value argument : part.graph.arguments())
      extents[argument.name()] = quantized_.at(argument.name())->rows(0, batch_).dims();
    return extents;
  }

  Stores importance_behind(const Stores& targets) {
    if (number_ + 1 == blocks_.size()) return {};
    Model rest = part_of(network_, behind(network_, blocks_, number_));
    passes::bypass_quantizers(rest);
    Stores inputs = in_float_;
    for (const auto& [name, store] : targets) inputs.insert_or_assign(name, store);
    return importance_of(rest, inputs, context_.spreads, batch_, context_.calibration.seed, room_, context_.pool);
  }

  void run_step(runtime::Program& program, const Block& block, const LearningBlock& learning, const Stores& targets,
                const Stores& importance, int64_t step) {
    const std::vector<int64_t> chosen = draw(step);
    Tensors given;
    for (const Value argument : learning.part.graph.arguments()) {
      given[argument.name()] = quantized_.at(argument.name())->rows(chosen);
      if (learning_.keep < 1 && argument.dtype() == DType::f32)
        given[real_argument(argument.name())] = in_float_.at(argument.name())->rows(chosen);
    }
    for (const Value output : block.outputs) {
      if (output.dtype() != DType::f32) continue;
      Tensor target = targets.at(output.name())->rows(chosen);
      if (learning_.weighs) {
        const auto found = importance.find(output.name());
        given[importance_argument(output.name())] =
            found == importance.end() ? ones(target.dims()) : found->second->rows(chosen);
      }
      given[target_argument(output.name())] = std::move(target);
    }
    if (!learning.choices().empty()) {
      const double all = static_cast<double>(context_.options.steps), done = static_cast<double>(step) / all;
      const double progress = std::max(0.0, (done - kWarmup) / (1 - kWarmup));
      given[kDecision] = Tensor::scalar(static_cast<float>(done < kWarmup ? 0 : kDecisionWeight));
      given[kSharpness] =
          Tensor::scalar(static_cast<float>(kFirstSharpness + (kLastSharpness - kFirstSharpness) * progress));
    }
    given[passes::kLearningRate] = Tensor::scalar(static_cast<float>(kRate));
    program.run(given, context_.pool);
  }

  static Tensor ones(const Dims& dims) {
    Tensor tensor(DType::f32, dims);
    std::ranges::fill(tensor.data<float>(), 1.0F);
    return tensor;
  }

  std::vector<int64_t> draw(int64_t step) const {
    constexpr uint64_t kStream = uint64_t{3} << 61;
    Random random(context_.calibration.seed,
                  kStream + (static_cast<uint64_t>(number_) << 32) + static_cast<uint64_t>(step));
    std::vector<int64_t> chosen(static_cast<size_t>(batch_));
    for (int64_t& one : chosen)
      one = static_cast<int64_t>(random.below(static_cast<uint64_t>(context_.samples.size())));
    return chosen;
  }

  void report(int64_t step, const std::string& name) const {
    if (!context_.progress) return;
    const double steps = static_cast<double>(context_.options.steps);
    const std::string note = fmt::format("block {} of {}: {}", number_ + 1, blocks_.size(), name);
    context_.progress({learning_.name, static_cast<double>(number_) * steps + static_cast<double>(step + 1),
                       steps * static_cast<double>(blocks_.size()), note});
  }

  const RepairContext& context_;
  const Learning& learning_;
  StoreRoom room_;
  int64_t batch_;
  Model network_, result_;
  std::vector<Block> blocks_;
  std::map<std::string, int64_t> scales_;
  Checkpoints checkpoints_;
  Stores in_float_, quantized_;
  size_t number_ = 0;  ///< index of the current block
  int64_t learned_ = 0, nearer_ = 0;
  double ratios_ = 0;  ///< sum of log(distance after / distance before) over improved blocks
  std::string refused_;
};

}  // namespace

Change learn(const State& state, const RepairContext& context, const Learning& learning) {
  if (const std::string reason = why_weights_stay(state.model); !reason.empty()) return {{}, reason};
  if (passes::has_uneven_levels(state.model)) return {{}, "levels of its quantizers are not evenly spaced"};
  const auto ops = state.model.graph.ops();
  if (std::ranges::any_of(ops, [](Op op) { return !op.regions().empty(); }))
    return {{}, "the network has branches or loops, and is not cut into blocks"};
  Change change = Learner(state, context, learning).run();
  if (change.state) change.state->reference = state.reference;
  return change;
}

}  // namespace halfstep::repair
