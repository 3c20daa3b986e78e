#include "halfstep/train/evaluate/loss_meter.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/compile/compile.h"

namespace halfstep::train {

double LossMeter::operator()(const Tensors& outputs, const Tensors& targets) {
  losses::Ports ports;
  Tensors inputs;
  std::string key;
  for (const std::string& name : outputs_) {
    const Tensor& output = outputs.at(name);
    ports.outputs.emplace_back(name, output.type());
    inputs.emplace(losses::output_argument(name), output);
    key += to_string(output.type()) + " ";
  }
  for (const auto& [name, target] : targets) {
    ports.targets.emplace(name, target.type());
    inputs.emplace(losses::target_argument(name), target);
    key += to_string(target.type()) + " ";
  }
  auto found = known_.find(key);
  if (found == known_.end()) {
    const Model network = loss_.network(ports);
    std::vector<std::string> arguments;
    for (const Value argument : network.graph.arguments()) arguments.push_back(argument.name());
    found = known_.emplace(key, Known{std::move(arguments), compile(network)}).first;
  }
  Tensors read;
  for (const std::string& argument : found->second.arguments) read.emplace(argument, inputs.at(argument));
  return double{found->second.program.run(read, pool_).begin()->second.data<float>()[0]};
}

namespace {

/// The outputs and the targets of `count` samples.
losses::Ports ports_of(const Model& network, const data::Samples& samples, int64_t count) {
  const Graph graph = specialize(network, samples.extents(count)).graph;
  losses::Ports ports{{}, samples.target_types(count)};
  const std::vector<std::string> names = graph.body().output_names();
  for (size_t i = 0; i < names.size(); ++i) ports.outputs.emplace_back(names[i], graph.outputs()[i].type());
  return ports;
}

bool is_known(const Type& type) { return std::ranges::find(type.dims, kUnknown) == type.dims.end(); }

bool can_be_wrong(const losses::Ports& ports) {
  return std::ranges::any_of(ports.targets, [](const auto& target) { return !is_float(target.second.dtype); });
}

/// Outputs of zeros.
Tensors outputs_of(const losses::Ports& ports) {
  Tensors outputs;
  for (const auto& [name, type] : ports.outputs) outputs.emplace(name, Tensor(type.dtype, type.dims));
  return outputs;
}

/// Runs the loss on the targets of many samples at once, and of one after the other where that fails.
class TargetCheck {
 public:
  TargetCheck(const losses::NamedLoss& loss, const Model& network, const data::Samples& samples, ThreadPool& pool)
      : loss_(loss),
        network_(network),
        few_(data::batch_of(network, 1)),
        many_(data::batch_of(network, kAtOnce)),
        outputs_of_few_(outputs_of(ports_of(network, samples, few_))),
        outputs_of_many_(outputs_of(ports_of(network, samples, many_))),
        meter_(loss, network.graph.body().output_names(), pool) {}

  void run(const data::Samples& samples) {
    int64_t begin = 0;
    for (; begin + many_ <= samples.size(); begin += many_) {
      try {
        meter_(outputs_of_many_, samples.targets(begin, many_));
      } catch (const Error&) {
        one_by_one(samples, begin, begin + many_);
        throw;
      }
    }
    one_by_one(samples, begin, samples.size());
  }

 private:
  static constexpr int64_t kAtOnce = 64;

  void one_by_one(const data::Samples& samples, int64_t begin, int64_t end) {
    for (; begin + few_ <= end; begin += few_) {
      try {
        meter_(outputs_of_few_, samples.targets(begin, few_));
      } catch (const Error& error) {
        Diagnostic refused = error.diagnostics().front();  // its place is an operator of the loss
        refused.where = fmt::format("{}: sample {}, loss {}", samples.data->name,
                                    samples.indices[static_cast<size_t>(begin)], loss_.text);
        refused.layer = network_.graph.body().output_names().front();
        fail(std::move(refused));
      }
    }
  }

  const losses::NamedLoss& loss_;
  const Model& network_;
  int64_t few_, many_;
  Tensors outputs_of_few_, outputs_of_many_;
  LossMeter meter_;
};

}  // namespace

void check_targets(const losses::NamedLoss& loss, const Model& network, const data::Samples& samples,
                   ThreadPool& pool) {
  const losses::Ports ports = ports_of(network, samples, data::batch_of(network, 1));
  if (!std::ranges::all_of(ports.outputs, is_known, &std::pair<std::string, Type>::second)) return;
  loss.network(ports);  // an error of its own, and of no sample
  if (!can_be_wrong(ports)) return;
  TargetCheck check(loss, network, samples, pool);
  check.run(samples);
  data::Samples validation = samples;
  validation.indices = samples.validation;
  check.run(validation);
}

}  // namespace halfstep::train
