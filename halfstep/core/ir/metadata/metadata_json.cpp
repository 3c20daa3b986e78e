#include "halfstep/core/ir/metadata/metadata_json.h"

#include <cmath>

#include "halfstep/core/ir/metadata/json_archive.h"
#include "halfstep/core/ir/text/parse.h"

namespace halfstep::detail {
namespace {

/// Checks the metadata of one Model. Holds the start of the messages.
class Check {
 public:
  explicit Check(const Model& model) : model_(model), where_(fmt::format("graph '{}': metadata", model.graph.name())) {}

  void run() const {
    const Metadata& metadata = model_.metadata;
    check_stage(metadata);
    for (const auto& [name, codes] : metadata.code_formats) {
      check_scale("code_formats." + name + ".scale", codes.scale);
      if (codes.code_max < codes.code_min)
        fail(errors::metadata_out_of_range(at("code_formats." + name + ".code_max"), codes.code_max,
                                           fmt::format("at least {}, the least code", codes.code_min)));
    }
    for (const auto& [name, origin] : metadata.tables) {
      check_scale("tables." + name + ".x_scale", origin.x_scale);
      check_scale("tables." + name + ".y_scale", origin.y_scale);
    }
    for (const auto& [name, dims] : metadata.calibrated_lengths) {
      for (const int64_t extent : dims) check_least("calibrated_lengths." + name, extent, kUnknown);
    }
    for (const Normalization& one : metadata.normalizations)
      check_tensors(fmt::format("normalizations of layer '{}'", one.layer),
                    {one.weight, one.bias, one.raw_weight, one.raw_bias, one.scale, one.shift, one.mean, one.variance});
    for (const LearnedQuantizer& one : metadata.learned_quantizers) {
      const std::string of = fmt::format("learned_quantizers of kind {}", name(one.kind));
      check_tensors(of, {one.scale, one.zero_point, one.offset, one.low, one.high, one.log2_scale, one.weight, one.raw,
                         one.choice});
      check_networks(of, one);
    }
    if (metadata.training_run) check_run(*metadata.training_run);
  }

 private:
  std::string at(const std::string& field) const { return where_ + "." + field; }

  /// A float network may have any operators, including its own quantizers and codes.
  void check_stage(const Metadata& metadata) const {
    if (metadata.stage == Stage::float_network) return;
    const Stage found = stage_of_graph(model_.graph, bool(metadata.platform));
    if (found != metadata.stage) fail(errors::metadata_stage(at("stage"), name(metadata.stage), name(found)));
  }

  void check_scale(const std::string& field, float scale) const {
    if (!(scale > 0) || !std::isfinite(scale))
      fail(errors::metadata_out_of_range(at(field), scale, "a finite number above 0"));
  }

  void check_least(const std::string& field, int64_t number, int64_t least) const {
    if (number < least) fail(errors::metadata_out_of_range(at(field), number, fmt::format("at least {}", least)));
  }

  void check_tensors(const std::string& of, std::initializer_list<std::string> names) const {
    for (const std::string& name : names) {
      if (!name.empty() && !model_.tensors.contains(name)) fail(errors::metadata_without_tensor(at(of), name));
    }
  }

  /// Every quantizer of the kind has a network, and every argument of a network has a tensor.
  void check_networks(const std::string& of, const LearnedQuantizer& one) const {
    for (const auto& [argument, tensor] : one.tensors) check_tensors(of, {tensor});
    for (const auto& [quantizer, text] : one.networks) {
      const Graph network = parse(text, at(of));
      for (const Value argument : network.arguments()) {
        if (argument.name() != "x" && !one.tensors.contains(argument.name()))
          fail(errors::metadata_without_tensor(at(of), argument.name()));
      }
    }
  }

  void check_run(const TrainingRun& run) const {
    check_least("training_run.epoch", run.epoch, 0);
    const auto last = std::max<int64_t>(0, static_cast<int64_t>(run.history.validation_results.size()) - 1);
    if (run.history.best < 0 || run.history.best > last)
      fail(errors::metadata_out_of_range(at("training_run.history.best_epoch"), run.history.best,
                                         fmt::format("0 to {}", last)));
  }

  const Model& model_;
  std::string where_;
};

}  // namespace

std::string metadata_text(const Metadata& metadata) { return json_of(metadata).dump(); }

Metadata parse_metadata(const std::string& text, const std::string& where) {
  Metadata metadata;
  read(parse_json(text, where), where, metadata);
  return metadata;
}

void check_metadata(const Model& model) { Check(model).run(); }

}  // namespace halfstep::detail
