#include "halfstep/api/inputs/trainable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/api/run.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/train/loop/joint_graph.h"

namespace halfstep::api {
namespace {

runtime::Program program_of(const train::JointGraph& joint) {
  CompileOptions options;
  options.freeze_tensors = false;
  for (const auto& [output, argument] : joint.seeds) options.later.push_back(argument);
  return compile(joint.model, options);
}

/// Least scale of a range (docs/arithmetic.md, section 3).
constexpr float kLeastScale = 0x1p-23F;

/// An external optimizer may move a scale to zero or below. Such a scale becomes half of its last positive value, as in
/// the steps of halfstep::train. `before` holds the last values. It is undefined at first.
void keep_positive(const std::string& name, Tensor& scale, Tensor& before) {
  const auto values = scale.data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0 && before.defined()) values[i] = std::max(before.data<float>()[i] / 2, kLeastScale);
    if (!std::isfinite(values[i]) || values[i] <= 0)
      fail(errors::learned_scale_not_positive(name, fmt::format("{}", values[i])));
  }
  before = scale.clone();
}

}  // namespace

/// A joint graph compiled to a program of two parts.
struct Trainable::Compiled {
  struct Key {
    std::map<std::string, Dims> extents;
    std::vector<std::string> wanted;
    bool operator==(const Key&) const = default;
  };

  Key key;
  train::JointGraph joint;
  runtime::Program program;
  std::vector<std::string> tensors;  ///< network tensors that the program reads
  std::vector<std::string> moved;    ///< network tensors that the program also writes
  std::vector<std::string> counted;  ///< the program's own state: counters of random numbers

  Compiled(const Model& model, Key what)
      : key(std::move(what)), joint(train::joint_graph(model, key.extents, key.wanted)), program(program_of(joint)) {
    const runtime::ProgramSpec& spec = program.spec();
    for (const runtime::TensorSpec& tensor : spec.tensors) {
      if (model.tensors.contains(tensor.name)) tensors.push_back(tensor.name);
    }
    for (const runtime::Slot& slot : spec.slots) {
      if (slot.storage != runtime::Storage::tensor || slot.first < 0) continue;
      const std::string& name = spec.tensors[static_cast<size_t>(slot.index)].name;
      (model.tensors.contains(name) ? moved : counted).push_back(name);
    }
  }
};

struct Trainable::State {
  /// Limit of idle programs: one more than a loop with a smaller last batch needs.
  static constexpr size_t kIdle = 3;

  Model model;
  const passes::LearnedParts parts;
  std::mutex turn;  ///< protects all members below
  Model settled;    ///< model whose derived tensors (from learned ones) have separate memory
  Tensors scales;   ///< learned scales, with their last values
  Tensors counts;   ///< state of the programs besides the network's tensors, after the last run
  ThreadPool pool;
  std::vector<std::unique_ptr<Compiled>> idle;  ///< idle programs, the most recent one last

  State(const Model& network, int threads)
      : model(network), parts(passes::learned_parts(network)), settled(network), pool(threads) {
    for (const std::string& name : train::learned_scales(network)) scales[name];
    settle_scales();
  }

  std::unique_ptr<Compiled> take(Compiled::Key key) {
    const auto known = std::ranges::find_if(idle, [&](const auto& compiled) { return compiled->key == key; });
    if (known == idle.end()) return std::make_unique<Compiled>(model, std::move(key));
    auto compiled = std::move(*known);
    idle.erase(known);
    return compiled;
  }

  void give_back(std::unique_ptr<Compiled> compiled) {
    const std::scoped_lock lock(turn);
    if (idle.size() == kIdle) idle.erase(idle.begin());
    idle.push_back(std::move(compiled));
  }

  void settle_scales() {
    for (auto& [name, before] : scales) keep_positive(name, model.tensors.at(name), before);
  }

  void settle_parts() {
    if (parts.settled.empty()) return;
    settled.tensors = model.tensors;
    passes::settle_learned_parts(settled);
    for (const std::string& name : parts.settled) copy_into(model.tensors.at(name), settled.tensors.at(name));
  }

  static void copy_into(Tensor& lies, const Tensor& now) { std::memcpy(lies.raw(), now.raw(), now.bytes()); }

  Tensors run(Compiled& compiled, const Tensors& inputs) {
    settle_scales();
    for (const std::string& name : compiled.tensors) compiled.program.set_tensor(name, model.tensors.at(name));
    for (const std::string& name : compiled.counted) {
      if (const auto known = counts.find(name); known != counts.end()) compiled.program.set_tensor(name, known->second);
    }
    Tensors outputs = compiled.program.run_part(0, inputs, pool);
    for (const std::string& name : compiled.moved) copy_into(model.tensors.at(name), compiled.program.tensor(name));
    for (const std::string& name : compiled.counted) counts[name] = compiled.program.tensor(name).clone();
    return outputs;
  }
};

struct Trainable::Run::State {
  std::shared_ptr<Trainable::State> network;
  std::unique_ptr<Compiled> compiled;  ///< null after it was returned
  Tensors inputs, outputs;             ///< read by the second part

  ~State() {
    if (compiled) network->give_back(std::move(compiled));
  }
};

Trainable::Trainable(const Model& network, int threads) {
  if (stage_of(network) == Stage::integer)
    fail(errors::wrong_stage(place_of(network), "an integer program", "a prepared or float network",
                             "train its prepared network"));
  state_ = std::make_shared<State>(network, threads);
}
Trainable::~Trainable() = default;
Trainable::Trainable(Trainable&&) noexcept = default;
Trainable& Trainable::operator=(Trainable&&) noexcept = default;

std::map<std::string, Role> Trainable::roles() const {
  const auto& [learned, settled] = state_->parts;
  std::map<std::string, Role> roles;
  for (const Value tensor : state_->model.graph.tensors()) {
    const bool is_read = !tensor.unused() || learned.contains(tensor.name());
    if (tensor.role() != Role::constant && is_read && !settled.contains(tensor.name()))
      roles.emplace(tensor.name(), is_float(tensor.dtype()) ? tensor.role() : Role::state);
  }
  return roles;
}

void Trainable::settle() {
  const std::scoped_lock lock(state_->turn);
  state_->settle_scales();
  state_->settle_parts();
}

Trainable::Run Trainable::forward(const Tensors& inputs, const std::vector<std::string>& wanted) {
  auto run = std::make_unique<Run::State>();
  run->network = state_;
  run->inputs = inputs;
  Compiled::Key key{extents_of(state_->model.graph, inputs, "inputs"), wanted};
  {
    const std::scoped_lock lock(state_->turn);
    run->compiled = state_->take(std::move(key));
    run->outputs = state_->run(*run->compiled, inputs);
  }
  return Run(std::move(run));
}

Trainable::Run::Run(std::unique_ptr<State> state) : state_(std::move(state)) {}
Trainable::Run::~Run() = default;
Trainable::Run::Run(Run&&) noexcept = default;
Trainable::Run& Trainable::Run::operator=(Run&&) noexcept = default;

const Tensors& Trainable::Run::outputs() const { return state_->outputs; }

Tensors Trainable::Run::backward(const Tensors& output_gradients) {
  if (!state_->compiled) fail(errors::gradients_taken(state_->network->model.graph.name()));
  auto compiled = std::exchange(state_->compiled, nullptr);
  Tensors seeds;
  for (const auto& [output, gradient] : output_gradients) {
    const auto seed = compiled->joint.seeds.find(output);
    seeds.emplace(seed == compiled->joint.seeds.end() ? output : seed->second, gradient);
  }
  Tensors found;
  {
    const std::scoped_lock lock(state_->network->turn);
    found = compiled->program.run_part(1, seeds, state_->network->pool);
  }
  Tensors gradients;
  for (const auto& [name, output] : compiled->joint.gradients) gradients.emplace(name, std::move(found.at(output)));
  state_->network->give_back(std::move(compiled));
  return gradients;
}

}  // namespace halfstep::api
