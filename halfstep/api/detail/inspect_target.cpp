#include <fmt/format.h>

#include <algorithm>

#include "halfstep/api/detail/known_extents.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/api/inspect.h"
#include "halfstep/core/base/status.h"
#include "halfstep/quant/prepare/quantized_regions.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/train/loop/training_graph.h"

namespace halfstep::api {
namespace {

/// Returns all diagnostics that `work` throws for the whole `network`, both unsupported and bad input.
template <class Work>
std::vector<Diagnostic> objections_of(const Model& network, Work work) {
  std::vector<Diagnostic> objections;
  const std::string where = fmt::format("network '{}'", network.graph.name());
  try {
    collect(objections, "", where, work);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    for (const Diagnostic& one : error.diagnostics()) objections.push_back(placed(one, "", where));
  }
  return objections;
}

std::vector<Diagnostic> objections_to_training(const Model& prepared, std::vector<std::string>& notes) {
  std::vector<std::string> of_training;
  std::vector<Diagnostic> objections = objections_of(prepared, [&] {
    constexpr int64_t kSamples = 2;  // samples of a step; its gradients are valid for any extents
    const auto extents = known_extents(prepared, kSamples);
    train::Spreads spreads;
    for (const std::string& output : train::float_outputs(prepared, extents)) spreads[output] = 1.0F;
    train::training_graph(prepared, extents, train::Loss::teacher, spreads, {}, {}, &of_training);
  });
  notes.insert(notes.end(), of_training.begin(), of_training.end());
  add_remedy(objections, "use the network without training, because only training needs gradients");
  return objections;
}

bool is_calibrated(const Model& prepared) {
  return std::ranges::all_of(prepared.graph.all<ops::FakeQuantize>(), [&](const ops::FakeQuantize& quantizer) {
    const ops::ObserveRange observer = quant::observer_of(quantizer);
    const auto end = [&](Value value) { return prepared.tensors.at(value.name()).data<float>()[0]; };
    return end(observer.low()) <= end(observer.high());
  });
}

/// Ranges of an uncalibrated network have no semantics, so only its operators are checked.
std::vector<Diagnostic> objections_to_conversion(const Model& prepared, const quant::ConvertOptions& options) {
  return objections_of(prepared, [&] {
    if (is_calibrated(prepared)) {
      quant::convert(prepared, options);
    } else {
      quant::require_integers(prepared, options);
    }
  });
}

}  // namespace

bool TargetInspection::holds() const {
  return std::ranges::all_of(verbs, [](const VerbObjections& verb) { return verb.objections.empty(); });
}

TargetInspection inspect_target(const Model& network, const Target& target) {
  require_in_range(target.prepare);
  const Stage stage = stage_of(network);
  if (stage == Stage::integer)
    fail(errors::wrong_stage(place_of(network), "an integer program, which already has a platform",
                             "a float or prepared network", "use its source network"));
  TargetInspection found{target.platform.name, {{"quantize", {}}, {"convert", {}}, {"train", {}}}, {}, {}};
  if (auto note = note_on_quantizers(network)) found.notes.push_back(std::move(*note));
  Model prepared = network;
  if (stage == Stage::prepared) {
    if (const std::string made_for = quant::platform_of(network).name; made_for != target.platform.name)
      fail(errors::prepared_for_other_platform(network.graph.name(), made_for, target.platform.name));
  } else {
    std::vector<Diagnostic> places;
    found.verbs[0].objections = objections_of(network, [&] {
      quant::PadResult start{quant::with_regions(network, target.regions), {}};
      if (target.pad_channels) start = quant::pad_channels(start.model, target.platform, target.prepare);
      prepared = quant::prepare_with_objections(start.model, target.platform, target.prepare, places);
      found.padded = std::move(start.layers);
    });
    found.verbs[0].objections.insert(found.verbs[0].objections.end(), places.begin(), places.end());
    if (!quant::is_prepared(prepared)) return found;
  }
  found.fallbacks = quant::float_fallback(prepared);
  found.verbs[1].objections = objections_to_conversion(prepared, target.convert);
  found.verbs[2].objections = objections_to_training(prepared, found.notes);
  return found;
}

}  // namespace halfstep::api
