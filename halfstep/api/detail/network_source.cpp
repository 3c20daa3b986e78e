#include "halfstep/api/detail/network_source.h"

#include <algorithm>
#include <cmath>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/passes/canonical/open_source.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/float_form.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/verify/equivalence/semantics.h"

namespace halfstep::api {
namespace {

/// Limit of given samples. More would cost more time than the comparison of the execution paths.
constexpr int64_t kGivenSamples = 64;

/// Samples stored in a Model, followed by samples of a data set.
struct AllSamples {
  const Source& source;
  const data::Samples& given;

  int64_t stored() const { return source.sample_count(); }
  int64_t size() const { return stored() + data::usable(source.network, given.size()); }
  /// Returns samples from one of both sets, never mixed.
  Tensors operator()(int64_t begin, int64_t count) const {
    return begin < stored() ? source.inputs(begin, count) : given.inputs(begin - stored(), count);
  }
};

Model evaluating(Model model) {
  passes::set_mode(model.graph, passes::Mode::evaluation);
  passes::close_learned_parts(model);
  return model;
}

/// Throws if the outputs of a network and of its rewritten form differ by more than float32 rounding.
void require_same_outputs(const std::string& network, const Tensors& before, const Tensors& after) {
  constexpr double kRounding = 0x1p-16;  // relative to the largest output: sums of thousands of products, through many
                                         // layers
  for (const auto& [name, expected] : before) {
    const Tensor& found = after.at(name);
    double largest = 0;
    for (int64_t i = 0; i < expected.size(); ++i) {
      if (const double real = std::fabs(element(expected, i)); std::isfinite(real)) largest = std::max(largest, real);
    }
    for (int64_t i = 0; i < expected.size(); ++i) {
      const double a = element(expected, i), b = element(found, i);
      if (a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= kRounding * largest) continue;
      fail(errors::padded_output_differs(network, i, name, b, a));
    }
  }
}

}  // namespace

quant::PadResult with_padded_channels(const Model& network, const quant::Platform& platform,
                                      const quant::PrepareOptions& options, const data::Samples& samples,
                                      ThreadPool& pool) {
  quant::PadResult padded = quant::pad_channels(network, platform, options);
  const Tensors inputs = samples.inputs(0, data::batch_of(network, 1));
  const auto outputs = [&](const Model& model) {
    return train::BatchRunner(train::evaluation_form(model), {}, pool).run(inputs);
  };
  require_same_outputs(network.graph.name(), outputs(network), outputs(padded.model));
  return padded;
}

std::shared_ptr<const Source> source_of(const Model& network, const data::Samples& samples, int64_t keep,
                                        uint64_t seed) {
  constexpr uint64_t kStream = uint64_t{1} << 34;  // differs from the streams of calibration and training
  if (keep < 0) fail(errors::negative_count("keep-samples", keep));
  const int64_t batch = data::batch_of(network, 1);
  const int64_t count = std::min(round_up(keep, batch), data::usable(network, samples.size()));
  const auto order = Random(seed, kStream).permutation(samples.size());
  Source source{network, count == 0 ? Tensors() : samples.rows(0, count, &order)};
  quant::clear_layers(source.network);  // prepare does the same
  return std::make_shared<const Source>(std::move(source));
}

verify::FloatReport check_floats(const Model& prepared, const data::Samples& samples, ThreadPool& pool) {
  const Source& source = *prepared.source;
  return check_floats(prepared, AllSamples{source, samples}(0, data::batch_of(source.network, 1)), pool);
}

verify::FloatReport check_floats(const Model& prepared, const Tensors& inputs, ThreadPool& pool) {
  const Source& source = *prepared.source;
  Model rewritten = evaluating(quant::source_form(prepared));
  Model unquantized = prepared;
  passes::restore_weights(unquantized);
  unquantized = evaluating(std::move(unquantized));
  passes::bypass_quantizers(unquantized);
  passes::dce(rewritten);
  passes::dce(unquantized);
  auto report = verify::same_floats(evaluating(source.network), rewritten, inputs, {}, pool);
  verify::compare_structure(report, rewritten, unquantized);
  return report;
}

verify::FloatReport require_same_floats(const Model& prepared, const data::Samples& samples, ThreadPool& pool) {
  verify::FloatReport report = check_floats(prepared, samples, pool);
  const std::string& name = prepared.graph.name();
  if (!report.structure.empty()) fail(errors::prepared_structure_differs(name, report.structure));
  if (report.trained) fail(errors::prepared_structure_differs(name, "has other tensors"));
  if (report.faults.empty()) return report;
  const verify::FloatFault& fault = report.faults.front();
  fail(errors::prepared_value_differs(name, fault.value, fault.index, fault.found, fault.expected, fault.bound));
}

void add_semantics(verify::VerifyReport& report, std::vector<verify::LayerSemantics> layers) {
  for (verify::LayerSemantics& layer : layers) {
    const auto found = std::ranges::find_if(report.layers, [&](const auto& l) { return l.layer.name == layer.layer; });
    if (found != report.layers.end()) found->semantics = std::move(layer.semantics);
  }
}

void check_semantics(verify::VerifyReport& report, const Model& prepared, const Model& integer,
                     const data::Samples& samples, const verify::SemanticOptions& options, ThreadPool& pool,
                     const ProgressCallback& progress) {
  if (!prepared.source) {
    report.unchecked = "the prepared Model does not contain its source model (older files do not); quantize again";
    return;
  }
  report.floats = check_floats(prepared, samples, pool);
  const AllSamples all{*prepared.source, samples};
  report.semantic_samples = options.all ? all.size() : std::min(all.size(), all.stored() + kGivenSamples);
  const Model opened = passes::with_open_source(prepared);
  add_semantics(report,
                verify::check_semantics(opened, integer, all, report.semantic_samples, options, pool, progress));
}

}  // namespace halfstep::api
