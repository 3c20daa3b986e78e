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

}  // namespace

void check_targets(const losses::NamedLoss& loss, const Model& network, const data::Samples& samples,
                   ThreadPool& pool) {
  const int64_t each = data::batch_of(network, 1);
  const losses::Ports ports = ports_of(network, samples, each);
  Tensors outputs;
  for (const auto& [name, type] : ports.outputs) {
    if (!is_known(type)) return;
    outputs.emplace(name, Tensor(type.dtype, type.dims));
  }
  loss.network(ports);  // an error of its own, and of no sample
  if (!can_be_wrong(ports)) return;
  LossMeter meter(loss, network.graph.body().output_names(), pool);
  for (const std::vector<int64_t>* part : {&samples.indices, &samples.validation}) {
    data::Samples checked = samples;
    checked.indices = *part;
    for (int64_t begin = 0; begin + each <= checked.size(); begin += each) {
      try {
        meter(outputs, checked.targets(begin, each));
      } catch (const Error& error) {
        Diagnostic refused = error.diagnostics().front();  // its place is an operator of the loss
        refused.where =
            fmt::format("{}: sample {}, loss {}", samples.data->name, (*part)[static_cast<size_t>(begin)], loss.text);
        refused.layer = network.graph.body().output_names().front();
        fail(std::move(refused));
      }
    }
  }
}

}  // namespace halfstep::train
