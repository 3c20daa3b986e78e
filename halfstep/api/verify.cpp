#include "halfstep/api/verify.h"

#include "halfstep/api/detail/c_backend.h"
#include "halfstep/api/detail/declared_codes.h"
#include "halfstep/api/detail/network_source.h"
#include "halfstep/api/detail/onnxruntime_backend.h"
#include "halfstep/api/detail/remedies.h"
#include "halfstep/api/detail/verify_regions.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/batch_memory.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/verify/equivalence/codings.h"

namespace halfstep::api {
namespace {

constexpr int64_t kMostSamples = 64;  ///< samples per batch

/// Sets bits, scale and zero point of a step's codes. A step that only moves codes has those of its input.
void describe_codes(const Model& prepared, const passes::QuantizedStep& step, verify::Layer& layer) {
  if (step.kind == passes::StepKind::real) {
    layer.activation_bits = 32;
    return;
  }
  const ops::FakeQuantize quantizer(passes::unmoved(step.result()).producer().node());
  layer.activation_bits = quant::bits_of(quantizer);
  layer.zero_point = prepared.tensors.at(quantizer.zero_point().name()).data<int32_t>()[0];
  layer.scale = quant::effective_scale(prepared, quantizer);
}

/// Returns the real value that the codes of a step represent, or the result of an operator in float.
Value floats_of(const passes::QuantizedStep& step, Value result) {
  return step.quantizer ? step.quantizer.x() : result;
}

/// Whether the result has positions of elements: integers without a scale.
bool has_positions(Value result) { return result.dtype() == DType::i64; }

/// Results of a step that are compared: codes and positions, or float values of an operator in float.
std::vector<Value> compared_results(const passes::QuantizedStep& step) {
  if (step.kind != passes::StepKind::real) {
    std::vector<Value> results = step.places();
    if (step.has_codes()) results.insert(results.begin(), step.result());
    return results;
  }
  std::vector<Value> results = step.main.results();
  std::erase_if(results, [](Value result) { return result.dtype() != DType::f32; });
  return results;
}

/// Describes one of the results of a step that are compared.
verify::Layer layer_of(const Model& prepared, const passes::QuantizedStep& step, Value result) {
  verify::Layer layer;
  layer.name = step.kind == passes::StepKind::real || has_positions(result) ? result.name() : step.name();
  layer.op = step.main ? step.main.info().name : step.quantizer.info().name;
  layer.float_value = floats_of(step, result).name();
  if (step.weight) {
    layer.weight_bits = quant::bits_of(step.weight);
    layer.weight_codes = step.weight.name();
  }
  if (has_positions(result)) {
    layer.activation_bits = bits_of(result.dtype());
  } else {
    describe_codes(prepared, step, layer);
  }
  return layer;
}

void add_engine(verify::ExecutionPaths& paths, const VerifyOptions& options, const data::Samples& samples,
                const Settings& settings) {
  const std::string named = options.backend ? fmt::format("'{}'", name(*options.backend)) : "nothing";
  const bool asks_of_onnxruntime = options.variants || options.exported;
  if (options.backend != VerifyBackend::onnxruntime && asks_of_onnxruntime)
    fail(errors::option_of_other_engine(named, "onnxruntime", "its files and variants"));
  if (options.backend != VerifyBackend::c && options.c.c_folder)
    fail(errors::option_of_other_engine(named, "c", "a program in C"));
  if (options.backend == VerifyBackend::onnxruntime)
    add_onnxruntime(paths, {options.exported, options.variants, settings.python});
  if (options.backend == VerifyBackend::c) add_c(paths, options.c, samples.extents(1));
}

/// Number of samples per batch when batched answers are compared with single ones. At least kFewest, even if one sample
/// needs much memory.
int64_t whole_batch(const verify::ExecutionPaths& paths, const data::Samples& samples) {
  constexpr int64_t kFewest = 4;
  const int64_t at_once = std::max(kFewest, train::fetching_batch(paths.unquantized, samples, kMostSamples));
  return data::judged_batch(paths.unquantized, at_once);
}

/// Returns nullopt unless samples have one label each and there are answers.
std::optional<verify::Accuracy> accuracy_of(const verify::Answers& answers, const data::Samples& samples) {
  const size_t count = answers.integer.size();
  if (count == 0 || samples.data->labels_each() != 1) return std::nullopt;
  const Tensor labels = samples.labels(0, static_cast<int64_t>(count));
  const auto share = [&](const std::vector<int64_t>& found) {
    int64_t right = 0;
    for (size_t i = 0; i < count; ++i) right += found[i] == labels.data<int32_t>()[i] ? 1 : 0;
    return static_cast<double>(right) / static_cast<double>(count);
  };
  return verify::Accuracy{share(answers.integer), share(answers.unquantized)};
}

}  // namespace

verify::ExecutionPaths paths_of(const Model& prepared, const Model& integer) {
  verify::ExecutionPaths paths{
      train::evaluation_form(prepared), integer, prepared.source ? prepared.source->network : prepared, {}};
  Graph& real = paths.unquantized.graph;
  if (prepared.source) {
    passes::set_mode(real, passes::Mode::evaluation);
  } else {
    passes::bypass_quantizers(paths.unquantized);
  }
  for (const auto& step : passes::quantized_steps(prepared)) {
    for (const Value result : compared_results(step)) {
      verify::Layer& layer = paths.layers.emplace_back(layer_of(prepared, step, result));
      if (has_positions(result)) continue;
      const Value value = verify::source_value(real, prepared.graph, floats_of(step, result));
      if (value) layer.real_value = value.name();
    }
  }
  return paths;
}

verify::VerifyReport compare_on(const verify::ExecutionPaths& paths, const data::Samples& samples, ThreadPool& pool,
                                const ProgressCallback& progress, std::optional<int64_t> batch) {
  const auto source = [&](int64_t begin, int64_t count) { return samples.inputs(begin, count); };
  const int64_t usable = data::usable(paths.unquantized, samples.size());
  if (usable == 0)
    fail(errors::too_few_samples(paths.unquantized.graph.name(), samples.size(),
                                 data::batch_of(paths.unquantized, kMostSamples)));
  const int64_t at_once = batch ? data::judged_batch(paths.unquantized, *batch)
                                : train::fetching_batch(paths.unquantized, samples, kMostSamples);
  auto report = verify::compare_paths(paths, source, usable, at_once, pool, progress);
  report.accuracy = accuracy_of(report.answers, samples);
  return report;
}

verify::VerifyReport prove(const verify::ExecutionPaths& paths, const Model& prepared, const data::Samples& samples,
                           const verify::SemanticOptions& options, ThreadPool& pool, const ProgressCallback& progress,
                           std::optional<int64_t> batch) {
  verify::VerifyReport report = compare_on(paths, samples, pool, progress, batch);
  if (prepared.source) {
    const auto inputs = [&](int64_t begin, int64_t count) { return samples.inputs(begin, count); };
    const int64_t together = batch ? data::judged_batch(paths.unquantized, *batch) : whole_batch(paths, samples);
    report.whole =
        verify::check_whole_network(paths.unquantized, paths.integer, inputs, std::min(report.samples, together), pool);
  }
  check_semantics(report, prepared, paths.integer, samples, options, pool, progress);
  verify_regions(report, prepared, paths, samples, options, pool, progress);
  return report;
}

verify::VerifyReport verify(const Model& given, const Model& integer, const Dataset& data, const VerifyOptions& options,
                            const Settings& settings) {
  require_in_range(options);
  require_stage(given, Stage::prepared);
  Model prepared = with_declared_codes(given);
  data::change_preprocess(prepared, options.preprocess);
  require_stage(integer, Stage::integer);
  verify::ExecutionPaths paths = paths_of(prepared, integer);
  const auto parts = parts_for(prepared, data);
  add_engine(paths, options, parts.test, settings);
  if (options.inject) verify::inject(paths.integer, *options.inject);
  ThreadPool pool(settings.threads);
  const verify::SemanticOptions semantics{.all = options.semantics == SemanticCheck::all, .seed = settings.seed};
  verify::VerifyReport report = prove(paths, prepared, parts.test, semantics, pool, settings.progress, options.batch);
  std::ranges::move(notes_on(prepared, data), std::back_inserter(report.notes));
  add_warnings(report.notes, prepared, parts.test, {parts.train, {.seed = settings.seed}, pool});
  return report;
}

}  // namespace halfstep::api
