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
#include "halfstep/passes/optimize/code_tables.h"
#include "halfstep/passes/optimize/coded_regions.h"
#include "halfstep/passes/optimize/cse.h"
#include "halfstep/passes/optimize/fold_constants.h"
#include "halfstep/passes/optimize/fuse_activations.h"
#include "halfstep/passes/optimize/fuse_attention.h"
#include "halfstep/passes/optimize/fuse_residuals.h"
#include "halfstep/passes/optimize/head_products.h"
#include "halfstep/passes/optimize/join_pixels.h"
#include "halfstep/passes/optimize/late_reshapes.h"
#include "halfstep/passes/optimize/phase_convolutions.h"
#include "halfstep/passes/optimize/scan_products.h"
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
    {"coded_regions", "pass codes into the regions of loops and branches, and out of them", passes::coded_regions,
     When::frozen},
    {"code_tables", "look up the codes of another scale in a table", passes::code_tables, When::frozen},
    {"scan_products", "compute products with the scanned values of a scan for all iterations at once",
     passes::scan_products, When::frozen},
    {"fold_constants", "evaluate operations on constants",
     [](Model& model) { passes::fold_constants(model, compiler::evaluate); }},
    {"simplify", "remove no-op operations", [](Model& model) { passes::simplify(model.graph); }},
    {"cse", "compute identical operations once", [](Model& model) { passes::cse(model.graph); }},
    {"fold_tails", "fold sums and products by channel, and normalizations, into the layer before them",
     [](Model& model) { passes::fold_tails(model); }, When::inference},
    {"layer_forms", "replace exported forms of layers by operators with kernels", passes::layer_forms, When::inference},
    {"split_layers", "split layers whose outputs are read in parts", passes::split_layers, When::inference},
    {"split_code_layers", "split layers on codes whose outputs are read in parts", passes::split_code_layers,
     When::frozen},
    {"phase_convolutions", "compute transposed convolutions on codes without products with zeros",
     passes::phase_convolutions, When::frozen},
    {"fuse_attention", "fuse products, masks and softmax of attention", passes::fuse_attention, When::inference},
    {"head_products", "fuse the exchange of heads and positions into products of codes",
     [](Model& model) { passes::head_products(model.graph); }},
    {"late_reshapes", "move reshapes after activations and sums",
     [](Model& model) { passes::late_reshapes(model.graph); }, When::inference},
    {"channels_last", "keep channels as the last axis of images between layers", passes::channels_last,
     When::inference},
    {"channels_last_codes", "keep channels as the last axis of images of codes between layers",
     passes::channels_last_codes, When::vectors},
    {"join_pixels", "avoid copies of images that become rows of pixels",
     [](Model& model) { passes::join_pixels(model.graph); }},
    {"fuse_residuals", "fuse sums into the layer before them",
     [](Model& model) { passes::fuse_residuals(model.graph); }, When::inference},
    {"fuse_activations", "fuse activations into the layer before them",
     [](Model& model) { passes::fuse_activations(model.graph); }},
    {"fuse_curves", "fuse GELU and SiLU into the layer before them",
     [](Model& model) { passes::fuse_curves(model.graph); }, When::inference},
    {"prune_regions", "remove unused arguments and results of regions",
     [](Model& model) { passes::prune_regions(model.graph); }},
    {"dce", "remove operations with unused results", [](Model& model) { passes::dce(model); }},
    {compiler::kReuseMemory, "share memory between values with disjoint lifetimes", nullptr},
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
