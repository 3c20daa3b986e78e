#include <algorithm>

#include "halfstep/data.h"
#include "halfstep/halfstep.h"
#include "halfstep/io/atomic_file.h"
#include "halfstep/ir/ops.h"
#include "halfstep/network.h"
#include "halfstep/onnxruntime_road.h"
#include "halfstep/passes/bypass_quantizers.h"
#include "halfstep/passes/quantized_steps.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/passes/traits.h"
#include "halfstep/quant/quantizer.h"
#include "halfstep/source.h"
#include "halfstep/train/calibrate.h"
#include "halfstep/train/executable.h"
#include "halfstep/verify/codings.h"

namespace halfstep {
namespace {

/// Bits, scale and zero point of a step's codes; a step that only moves codes has those of what it moves.
void describe_codes(const Model& prepared, const passes::QuantizedStep& step, verify::Layer& layer) {
  if (step.kind == passes::StepKind::real) {
    layer.feature_bits = 32;
    return;
  }
  const ops::FakeQuantize quantizer(passes::unmoved(step.result()).producer().node());
  layer.feature_bits = quant::bits_of(quantizer);
  layer.zero_point = prepared.tensors.at(quantizer.zero_point().name()).data<int32_t>()[0];
  layer.scale = quant::effective_scale(prepared, quantizer);
}

verify::Layer layer_of(const Model& prepared, const passes::QuantizedStep& step) {
  verify::Layer layer;
  layer.name = step.name();
  layer.op = step.main ? step.main.info().name : step.quantizer.info().name;
  layer.float_value = step.quantizer ? step.quantizer.x().name() : step.result().name();
  if (step.weight) {
    layer.weight_bits = quant::bits_of(step.weight);
    layer.weight_codes = step.weight.name();
  }
  describe_codes(prepared, step, layer);
  return layer;
}

/// `network` is what came in, `model` the same with its preprocessing, which is prepared. Returns the number of samples
/// that the observers saw.
int64_t prepare_and_calibrate(const Model& network, Model& model, const QuantizeRequest& request,
                              const Settings& settings) {
  const quant::Platform platform = quant::load_platform(request.target.platform, request.target.overrides);
  model = quant::prepare(model, platform,
                         {request.target.weight_bits, request.target.feature_bits, request.target.edge_bits});
  const io::Dataset data = open_data_for(model, request.calibrate);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  train::CalibrateOptions options;
  options.seed = settings.seed;
  train::calibrate(model, parts.train, options, pool, settings.progress);
  model.source = source_of(network, parts.train, request.keep_samples, settings.seed);
  require_same_floats(model, parts.train, pool);
  return std::min(parts.train.size(), options.batch * options.batches);
}

}  // namespace

QuantizeReport quantize_model(const QuantizeRequest& request, const Settings& settings) {
  io::require_file_target(request.out);
  const Model network = load_network(request.model, request.calibrate, request.preprocess);
  Model model = network;
  const std::string stage = stage_of(model);
  if (stage == "integer")
    fail("{}: is an integer program, expected a float or prepared network", request.model.string());
  if (stage == "prepared" && request.bits.empty())
    fail("{}: is prepared already; name layers whose bits are to change, or start from the float network",
         request.model.string());
  if (request.preprocess) train::set_preprocess(model, *request.preprocess);
  int64_t samples = 0;
  if (stage == "float") samples = prepare_and_calibrate(network, model, request, settings);
  for (const LayerBits& bits : request.bits) quant::set_bits(model, bits.selector, bits.weights, bits.features);
  save_model(model, request.out);
  return {quant::audit(model), quant::float_islands(model), quant::platform_of(model).text,
          train::to_text(train::preprocess_of(model)), samples};
}

ConvertReport convert_model(const ConvertRequest& request) {
  io::require_file_target(request.out);
  const Model prepared = load_stage(request.model, "prepared");
  auto conversion = quant::convert(prepared, request.options);
  save_model(conversion.model, request.out);
  return {std::move(conversion.proofs), std::move(conversion.islands)};
}

verify::Roads roads_of(const Model& prepared, const Model& integer) {
  verify::Roads roads{
      train::evaluation_form(prepared), integer, prepared.source ? prepared.source->network : prepared, {}};
  Graph& real = roads.unquantized.graph;
  if (prepared.source) {
    passes::set_mode(real, passes::Mode::evaluation);
  } else {
    passes::bypass_quantizers(real);
  }
  for (const auto& step : passes::quantized_steps(prepared)) {
    if (step.result().dtype() != DType::f32) continue;
    roads.layers.push_back(layer_of(prepared, step));
    verify::Layer& layer = roads.layers.back();
    const Value value = verify::source_value(real, prepared.graph, layer.float_value);
    if (value) layer.real_value = value.name();
  }
  return roads;
}

verify::RoadReport compare_on(const verify::Roads& roads, const train::Samples& samples, ThreadPool& pool,
                              const ProgressCallback& progress) {
  const auto source = [&](int64_t begin, int64_t count) { return samples.inputs(begin, count); };
  const int64_t usable = train::usable(roads.unquantized, samples.size());
  return verify::compare_roads(roads, source, usable, train::batch_of(roads.unquantized, 64), pool, progress);
}

namespace {

void add_engine(verify::Roads& roads, const VerifyRequest& request) {
  const bool asks_of_it = request.variants || !request.exported.empty();
  if (request.with.empty() && asks_of_it) fail("with: found nothing, expected onnxruntime for its files and variants");
  if (request.with.empty()) return;
  if (request.with != "onnxruntime") fail("with: found '{}', expected onnxruntime", request.with);
  add_onnxruntime(roads, {request.exported, request.variants});
}

}  // namespace

verify::RoadReport verify_models(const VerifyRequest& request, const Settings& settings) {
  const Model prepared = load_stage(request.prepared, "prepared");
  const Model integer = load_stage(request.integer, "integer");
  verify::Roads roads = roads_of(prepared, integer);
  add_engine(roads, request);
  if (!request.inject.empty()) verify::inject(roads.integer, request.inject);
  const io::Dataset data = open_data_for(prepared, request.data);
  const auto parts = parts_for(prepared, data);
  ThreadPool pool(settings.threads);
  verify::RoadReport report = compare_on(roads, parts.test, pool, settings.progress);
  const verify::MeaningOptions options{.all = request.all_meaning, .seed = settings.seed};
  check_meaning(report, prepared, roads.integer, parts.test, options, pool, settings.progress);
  return report;
}

}  // namespace halfstep
