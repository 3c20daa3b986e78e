#include "halfstep/train/loop/joint_graph.h"

#include "halfstep/passes/canonical/within_reach.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/normalizations.h"
#include "halfstep/passes/quantized/quantized_patterns.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::train {

Model differentiable_form(const Model& model, const std::map<std::string, Dims>& extents) {
  Model form = specialize(model, extents);
  passes::set_mode(form.graph, passes::Mode::training);
  passes::open_normalizations(form);
  if (!form.metadata.learned_quantizers.empty()) {
    passes::open_quantizers(form);
  } else if (quant::is_prepared(form)) {
    form = passes::quantized_patterns(form, true);
  }
  passes::within_reach(form);
  return form;
}

std::set<std::string> learned_scales(const Model& network) {
  std::set<std::string> names;
  for (const auto& quantizer : network.graph.all<ops::FakeQuantize>()) {
    if (quant::is_learned(quantizer)) names.insert(passes::scale_tensor(quantizer).name());
  }
  for (const LearnedQuantizer& one : network.metadata.learned_quantizers) {
    if (!one.high.empty()) names.insert(one.high);
  }
  return names;
}

JointGraph joint_graph(const Model& model, const std::map<std::string, Dims>& extents,
                       const std::vector<std::string>& wanted) {
  JointGraph joint{differentiable_form(model, extents), {}, {}};
  Graph& graph = joint.model.graph;
  std::vector<Value> outputs = graph.outputs();
  std::vector<std::string> names = graph.body().output_names();
  std::vector<passes::Seed> seeds;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!is_float(outputs[i].dtype())) continue;
    const Value seed = passes::add_argument(graph, names[i] + ".grad", outputs[i].type());
    joint.seeds.emplace(names[i], seed.name());
    seeds.push_back({outputs[i], seed});
  }
  for (const auto& [name, gradient] : passes::autodiff(joint.model, seeds, wanted).of) {
    const std::string output = "gradient of " + name;
    joint.gradients.emplace(name, output);
    outputs.push_back(gradient);
    names.push_back(output);
  }
  graph.set_outputs(std::move(outputs), std::move(names));
  return joint;
}

}  // namespace halfstep::train
