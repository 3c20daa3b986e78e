#include "halfstep/engine/capture/recorded.h"

#include <algorithm>
#include <list>
#include <unordered_map>
#include <utility>

#include "halfstep/core/base/small_vector.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/capture/tape.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::capture {
namespace {

constexpr size_t kIdle = 4;  ///< maximum number of idle programs kept for the next run

/// Below this size, other threads take longer to start than this one to finish.
constexpr int64_t kSpreadElements = int64_t{1} << 14;

/// Whether any value is large enough for several threads, or has a size known only at run time.
bool is_worth_spreading(const Graph& graph) {
  return std::ranges::any_of(graph.all_ops(), [](Op op) {
    return std::ranges::any_of(op.results(), [](Value value) {
      return !value.type().is_static() || count_elements(value.dims()) >= kSpreadElements;
    });
  });
}

/// If a part runs on a device, arguments fed on the host would stay there. Adds a transfer of each such argument to its
/// device.
Model placed(const Model& model, const Recorded::Places& places) {
  Model made = model;
  if (std::ranges::all_of(places.in, [](Place place) { return place == Place{}; })) return made;
  const std::vector<Op> ops = made.graph.ops();
  for (size_t i = 0; i < places.in.size() && !ops.empty(); ++i) {
    const Value argument = made.graph.arguments()[i];
    if (places.in[i] != Place{} || argument.unused()) continue;
    const auto uses = argument.uses();
    Builder builder = Builder::before(made.graph, ops.front());
    const Op moved = ops::transfer(builder, {.x = argument, .to = "cpu"});
    for (const auto& [op, operand] : uses) op.set_operand(operand, moved.out(0));
  }
  return made;
}

CompileOptions options_of(const Graph& graph, const Recorded::Places& places, const std::vector<std::string>& further) {
  CompileOptions options;
  options.freeze_tensors = false;
  options.disabled_passes = {"fold_constants", "fuse_activations"};
  for (size_t i = 0; i < places.in.size(); ++i) {
    if (places.in[i] == Place{}) continue;
    options.place = places.in[i];
    options.input_places.emplace(graph.arguments()[i].name(), places.in[i]);
  }
  const std::vector<std::string>& names = graph.body().output_names();
  for (size_t i = 0; i < places.out.size(); ++i) options.output_places.emplace(names[i], places.out[i]);
  if (further.empty()) return options;
  options.fetch = names;
  options.fetch.insert(options.fetch.end(), further.begin(), further.end());
  return options;
}

/// Runs with the threads of the process. Uses only this thread if another call has them or they are not wanted.
template <class Run>
auto on_team(bool wanted, const Run& run) {
  const eager::Team team(wanted);
  if (team.pool() != nullptr) return run(*team.pool());
  static thread_local ThreadPool alone{1};
  return run(alone);
}

}  // namespace

Recorded::Recorded(Model model, Places places, std::set<std::string> apart)
    : model_(std::move(model)), places_(std::move(places)), apart_(std::move(apart)) {
  HS_CHECK(places_.in.size() == graph().arguments().size() && places_.out.size() == graph().outputs().size());
  direct_ = direct();
}

std::unique_ptr<const Recorded::Direct> Recorded::direct() const {
  const std::vector<Op> ops = graph().ops();
  const auto on_host = [](const std::vector<Place>& all) {
    return std::ranges::all_of(all, [](Place place) { return place == Place{}; });
  };
  if (ops.size() != 1 || !ops[0].regions().empty() || ops[0].is<ops::Transfer>() || !on_host(places_.in) ||
      !on_host(places_.out) || ops[0].results() != graph().outputs())
    return nullptr;
  auto found = std::make_unique<Direct>();
  found->op = ops[0];
  for (const Value operand : ops[0].operands()) {
    Direct::Operand& made = found->operands.emplace_back();
    if (!operand) continue;
    if (operand.is_tensor()) {
      made.constant = model_.tensors.at(operand.name());
    } else {
      made.argument = static_cast<int>(std::ranges::find(graph().arguments(), operand) - graph().arguments().begin());
    }
  }
  for (size_t port = 0; port < ops[0].info().outputs.size(); ++port) {
    if (ops[0].out(static_cast<int>(port))) found->ports.push_back(port);
  }
  return found;
}

std::vector<Tensor> Recorded::run_direct(std::span<const Tensor* const> inputs) const {
  SmallVector<kernels::ConstView> in(direct_->operands.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const Direct::Operand& from = direct_->operands[i];
    const Tensor& operand = from.argument < 0 ? from.constant : *inputs[static_cast<size_t>(from.argument)];
    if (operand.defined()) in[i] = {operand.raw(), operand.dtype(), operand.dims()};
  }
  std::call_once(direct_->once, [&] {
    direct_->prepared = std::make_shared<const eager::Prepared>(direct_->op.info(), direct_->op.attributes(), in.all());
  });
  const auto& types = direct_->prepared->results();
  std::vector<Tensor> results;
  SmallVector<kernels::View> out(types.size());
  results.reserve(direct_->ports.size());
  for (const size_t port : direct_->ports) {
    const Tensor& made = results.emplace_back(Tensor::uninitialized(types[port]->dtype, types[port]->dims));
    out[port] = {results.back().raw(), made.dtype(), made.dims()};
  }
  direct_->prepared->run(in.all(), out.all());
  return results;
}

std::unique_ptr<Recorded::Compiled> Recorded::take(const std::vector<std::string>& further) const {
  {
    const std::scoped_lock lock(mutex_);
    const auto known = std::ranges::find_if(idle_, [&](const auto& compiled) { return compiled->further == further; });
    if (known != idle_.end()) {
      auto compiled = std::move(*known);
      idle_.erase(known);
      return compiled;
    }
  }
  return std::make_unique<Compiled>(Compiled{
      further, compile(placed(model_, places_), options_of(graph(), places_, further)), is_worth_spreading(graph())});
}

const std::vector<std::string>& Recorded::saved(const std::vector<bool>& differentiable) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = saved_.find(differentiable); known != saved_.end()) return known->second;
  }
  std::vector<std::string> names;
  try {
    names = values_to_save(*this, differentiable);
  } catch (const Error&) {
    const std::vector<Value> outputs = graph().outputs();
    for (const Op op : graph().ops()) {
      for (const Value result : op.results()) {
        if (std::ranges::find(outputs, result) == outputs.end()) names.push_back(result.name());
      }
    }
  }
  const std::scoped_lock lock(mutex_);
  return saved_.emplace(differentiable, std::move(names)).first->second;
}

std::vector<Tensor> Recorded::run(std::span<const Tensor* const> inputs,
                                  const std::vector<std::string>& further) const {
  if (direct_ != nullptr && further.empty()) return run_direct(inputs);
  auto compiled = take(further);
  std::vector<Tensor> results(places_.out.size() + further.size());
  on_team(compiled->spreads, [&](ThreadPool& pool) { compiled->program.run_into(inputs, results, pool); });
  const std::scoped_lock lock(mutex_);
  if (idle_.size() == kIdle) idle_.erase(idle_.begin());
  idle_.push_back(std::move(compiled));
  return results;
}

namespace {

RecordedOperator record_operator(const OpInfo& info, const Attributes& attributes,
                                 std::span<const Type* const> operands, Place place) {
  Model model;
  model.graph.set_name(info.name);
  std::vector<Value> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string& port = info.inputs[std::min(i, info.inputs.size() - 1)].name;
    values.push_back(operands[i] == nullptr ? Value()
                                            : model.graph.add_argument(model.graph.unique_name(port), *operands[i]));
  }
  const Op op = Builder(model.graph).insert({&info, std::move(values), attributes, info.name, {}});
  RecordedOperator made;
  std::vector<std::string> names;
  for (size_t port = 0; port < info.outputs.size(); ++port) {
    if (!op.out(static_cast<int>(port))) continue;
    made.ports.push_back(port);
    names.push_back(info.outputs[port].name);
  }
  model.graph.set_outputs(op.results(), std::move(names));
  Place to = place;
  if (op.is<ops::Transfer>()) to = parse_place(ops::Transfer(op.node()).to()).value();
  Recorded::Places places{std::vector<Place>(model.graph.arguments().size(), place),
                          std::vector<Place>(made.ports.size(), to)};
  made.recorded = std::make_shared<const Recorded>(std::move(model), std::move(places));
  return made;
}

struct WordsHash {
  size_t operator()(const std::vector<uint64_t>& words) const {
    uint64_t hash = words.size();
    for (const uint64_t word : words) hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    return hash;
  }
};

std::vector<uint64_t> key_of(const OpInfo& info, const Attributes& attributes, std::span<const Type* const> operands,
                             Place place) {
  static constexpr std::byte kThere{};
  std::vector<kernels::ConstView> views;
  for (const Type* type : operands)
    views.push_back(type == nullptr ? kernels::ConstView{} : kernels::ConstView{&kThere, type->dtype, type->dims});
  const eager::Signature signature = eager::signature_of(info, attributes, views);
  std::vector<uint64_t> words(signature.words().begin(), signature.words().end());
  words.push_back(static_cast<uint64_t>(place.kind) << 32 | static_cast<uint32_t>(place.index));
  return words;
}

/// The most recently used operators.
class Operators {
 public:
  std::shared_ptr<const RecordedOperator> find(const std::vector<uint64_t>& key) {
    const std::scoped_lock lock(mutex_);
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : found->second;
  }

  void insert(std::vector<uint64_t> key, std::shared_ptr<const RecordedOperator> made) {
    const std::scoped_lock lock(mutex_);
    if (known_.size() >= kMost) known_.clear();
    known_.emplace(std::move(key), std::move(made));
  }

 private:
  static constexpr size_t kMost = 4096;
  std::mutex mutex_;
  std::unordered_map<std::vector<uint64_t>, std::shared_ptr<const RecordedOperator>, WordsHash> known_;
};

}  // namespace

std::shared_ptr<const RecordedOperator> recorded_operator(const OpInfo& info, const Attributes& attributes,
                                                          std::span<const Type* const> operands, Place place) {
  static auto* operators = new Operators;  // calls may come while static objects are destroyed
  std::vector<uint64_t> key = key_of(info, attributes, operands, place);
  if (auto known = operators->find(key)) return known;
  auto made = std::make_shared<const RecordedOperator>(record_operator(info, attributes, operands, place));
  operators->insert(std::move(key), made);
  return made;
}

}  // namespace halfstep::capture
