#include "halfstep/tune/sensitivity/networks.h"

#include <utility>

#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::sensitivity {

FloatNetwork::FloatNetwork(const Model& prepared) : closed_(clone(prepared)) {
  passes::set_mode(closed_.graph, passes::Mode::evaluation);
  passes::close_learned_parts(closed_);
  const passes::QuantizerKinds kinds(closed_);  // only those with uneven levels are left
  for (const auto& quantizer : closed_.graph.all<ops::FakeQuantize>())
    places_.push_back({quantizer, kinds.of(quantizer), quant::is_weight(quantizer)});
}

Model FloatNetwork::in_float() const {
  return with([](const std::string&) { return false; });
}

Model rounding(const Model& closed, const Stays& stays) {
  Model network = closed;
  passes::bypass_quantizers(network.graph, [&](Op op) { return !stays(op.name()); });
  passes::dce(network.graph);  // keeps tensors, because the metadata names some
  if (passes::has_uneven_levels(network)) passes::open_levels(network);
  network.metadata.stage = Stage::float_network;  // no value has codes
  return network;
}

Model FloatNetwork::part(const std::vector<std::string>& given, const std::vector<std::string>& wanted) const {
  Model network = closed_;
  Graph& graph = network.graph;
  std::vector<Value> computed;  // find them first, because an argument takes the name of an operation and its results
  for (const std::string& name : given) computed.push_back(graph.value(name));
  for (size_t i = 0; i < given.size(); ++i)
    computed[i].replace_all_uses_with(passes::add_argument(graph, given[i], computed[i].type()));
  if (!wanted.empty()) {
    std::vector<Value> values;
    for (const std::string& name : wanted) values.push_back(graph.value(name));
    graph.set_outputs(values, wanted);
  }
  if (passes::has_uneven_levels(network)) {
    passes::dce(graph);
  } else {
    passes::dce(network);
    network.metadata = {};  // describes the whole network
  }
  return Model(std::as_const(network));  // a copy releases the memory of erased parts, which the graph keeps
}

}  // namespace halfstep::sensitivity
