#include "halfstep/analyze/networks.h"

#include "halfstep/passes/bypass_quantizers.h"
#include "halfstep/passes/learned_parts.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/quant/quantizer.h"

namespace halfstep::analyze {

FloatNetwork::FloatNetwork(const Model& prepared) : closed_(clone(prepared)) {
  passes::set_mode(closed_.graph, passes::Mode::evaluation);
  passes::close_learned_parts(closed_);
  const passes::QuantizerKinds kinds(closed_);  // what is left of them: those of uneven levels
  for (const auto& quantizer : closed_.graph.all<ops::FakeQuantize>())
    places_.push_back({quantizer, kinds.of(quantizer), quant::is_weight(quantizer)});
}

Model FloatNetwork::in_float() const {
  return with([](const std::string&) { return false; });
}

Model FloatNetwork::with(const std::function<bool(const std::string&)>& stays) const {
  Model network = closed_;
  passes::bypass_quantizers(network.graph, [&](Op op) { return !stays(op.name()); });
  if (passes::has_uneven_levels(network)) passes::open_levels(network);
  network.notes.erase("platform");  // nothing in it has codes
  return network;
}

}  // namespace halfstep::analyze
