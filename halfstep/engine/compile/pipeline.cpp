#include "halfstep/engine/compile/pipeline.h"

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/passes/canonical/fold_tails.h"
#include "halfstep/passes/canonical/layer_forms.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/prune_regions.h"
#include "halfstep/passes/graph/run_pass.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/optimize/channels_last.h"
#include "halfstep/passes/optimize/cse.h"
#include "halfstep/passes/optimize/fold_constants.h"
#include "halfstep/passes/optimize/fuse_activations.h"
#include "halfstep/passes/optimize/fuse_attention.h"
#include "halfstep/passes/optimize/fuse_residuals.h"
#include "halfstep/passes/optimize/head_products.h"
#include "halfstep/passes/optimize/join_pixels.h"
#include "halfstep/passes/optimize/late_reshapes.h"
#include "halfstep/passes/optimize/simplify.h"
#include "halfstep/passes/optimize/split_layers.h"

namespace halfstep {
namespace {

enum class When {
  always,
  frozen,     ///< reads tensors that must not change
  inference,  ///< may also change rounding of float results
  vectors     ///< needs operators that are fast with vector instructions
};

struct Pass {
  const char* name;
  const char* doc;
  void (*run)(Model&);
  When when = When::always;
};

constexpr Pass kPasses[] = {
    {"fold_constants", "operations on constants become constants",
     [](Model& model) { passes::fold_constants(model, compiler::evaluate); }},
    {"simplify", "operations that change nothing go away", [](Model& model) { passes::simplify(model.graph); }},
    {"cse", "operations that compute the same are done once", [](Model& model) { passes::cse(model.graph); }},
    {"fold_tails", "sums and products by channel, and normalizations, join the layer before them",
     [](Model& model) { passes::fold_tails(model); }, When::inference},
    {"layer_forms", "layers as exporters write them become the operators that have kernels", passes::layer_forms,
     When::inference},
    {"split_layers", "layers whose outputs are read in parts become a layer for each part", passes::split_layers,
     When::inference},
    {"split_code_layers", "the same for layers of codes", passes::split_code_layers, When::frozen},
    {"fuse_attention", "products, masks and softmax of attention become one operator", passes::fuse_attention,
     When::inference},
    {"head_products", "products of codes read and write what exchanges heads and positions",
     [](Model& model) { passes::head_products(model.graph); }},
    {"late_reshapes", "reshapes move behind activations and sums",
     [](Model& model) { passes::late_reshapes(model.graph); }, When::inference},
    {"channels_last", "images keep their channels as the last axis from layer to layer", passes::channels_last,
     When::inference},
    {"channels_last_codes", "the same for images of codes", passes::channels_last_codes, When::vectors},
    {"join_pixels", "images that become rows of pixels stay where they are",
     [](Model& model) { passes::join_pixels(model.graph); }},
    {"fuse_residuals", "sums join the layer before them", [](Model& model) { passes::fuse_residuals(model.graph); },
     When::inference},
    {"fuse_activations", "activations join the layer before them",
     [](Model& model) { passes::fuse_activations(model.graph); }},
    {"fuse_curves", "GELU and SiLU join the layer before them", [](Model& model) { passes::fuse_curves(model.graph); },
     When::inference},
    {"prune_regions", "regions take and give only what somebody reads",
     [](Model& model) { passes::prune_regions(model.graph); }},
    {"dce", "operations whose results nobody reads go away", [](Model& model) { passes::dce(model); }},
    {compiler::kReuseMemory, "values share memory when they do not live at the same time", nullptr},
};

}  // namespace

std::vector<PassInfo> optimization_passes() {
  std::vector<PassInfo> infos;
  for (const Pass& pass : kPasses) infos.push_back({pass.name, pass.doc});
  return infos;
}

namespace compiler {

namespace {

void check_names(const std::vector<std::string>& names, const std::vector<PassInfo>& passes) {
  std::vector<std::string> known;
  for (const PassInfo& pass : passes) known.emplace_back(pass.name);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(errors::optimization_unknown(name, did_you_mean(name, known)));
  }
}

}  // namespace

std::vector<PassInfo> graph_passes() {
  std::vector<PassInfo> infos;
  for (const Pass& pass : kPasses) {
    if (pass.run != nullptr) infos.push_back({pass.name, pass.doc});
  }
  return infos;
}

void run_graph_pass(Model& model, const std::string& name) {
  const auto* const pass =
      std::ranges::find(kPasses, name, [](const Pass& each) { return std::string_view(each.name); });
  HS_CHECK(pass != std::end(kPasses) && pass->run != nullptr);
  passes::run_pass(pass->name, model.graph, [&] { pass->run(model); });
}

void check_graph_pass_names(const std::vector<std::string>& names) { check_names(names, graph_passes()); }
void check_pass_names(const std::vector<std::string>& names) { check_names(names, optimization_passes()); }

void optimize(Model& model, const CompileOptions& options, bool on_codes) {
  const std::vector<std::string>& disabled = options.disabled_passes;
  const bool is_frozen = options.freeze_tensors && options.place.kind == DeviceKind::cpu;
  const bool has_vectors = options.level > CpuLevel::scalar && options.place.kind != DeviceKind::sim;
  for (const Pass& pass : kPasses) {
    if (pass.run == nullptr || std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end()) continue;
    if (pass.when == When::frozen && !is_frozen) continue;
    if (pass.when == When::inference && (!is_frozen || on_codes)) continue;
    if (pass.when == When::vectors && !has_vectors) continue;
    passes::run_pass(pass.name, model.graph, [&] { pass.run(model); });
  }
}

}  // namespace compiler
}  // namespace halfstep
