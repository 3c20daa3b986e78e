#include "halfstep/fuzz/network_trial.h"

#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/import/import.h"
#include "halfstep/formats/onnx/onnx_file.h"
#include "halfstep/fuzz/quality.h"
#include "halfstep/quant/prepare/float_form.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::fuzz {
namespace {

constexpr const char* kName = "fuzz.onnx";

Model import_with(const std::string& bytes, const std::map<std::string, Dims>& dims, const Tensors& values) {
  formats::Binding binding;
  binding.dims = dims;
  binding.values = values;
  binding.evaluate = eager::call;
  return formats::import_whole(*formats::onnx::parse(std::as_bytes(std::span(bytes)), kName), binding);
}

}  // namespace

Trial::Trial(const Network& network, Target target, uint64_t seed, Tools& tools)
    : network_(network),
      target_(std::move(target)),
      seed_(seed),
      tools_(tools),
      bytes_(network.bytes()),
      inputs_(network.batch_at(0, network.batch)) {
  data_.name = "fuzz";
  data_.inputs = network.inputs;
  data_.raw = false;
}

const Model& Trial::bound() {
  return bound_.get([&] { return import_with(bytes_, {}, inputs_); });
}

Model Trial::import_source() {
  try {
    return import_with(bytes_, {}, {});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported || !network_.rows) throw;
  }
  is_closed_ = true;
  std::map<std::string, Dims> dims;
  for (const auto& [name, tensor] : inputs_) dims.emplace(name, tensor.dims());
  return import_with(bytes_, dims, {});
}

bool Trial::stays_open() {
  source();
  return !is_closed_;
}

const Model& Trial::source() {
  return source_.get([&] { return import_source(); });
}

const data::Samples& Trial::samples() {
  if (network_.samples == 0) throw Skipped{"inputs without samples"};
  if (!parts_) {
    parts_ = data::split(data_);
    parts_->feed(source());
  }
  return parts_->train;
}

Trial::Calibrated Trial::calibrate(const Model& source, ThreadPool& pool) {
  const data::Samples& seen = samples();
  const quant::Platform platform = quant::load_platform(target_.platform, target_.overrides);
  quant::PadResult start{source, {}};
  if (target_.pad_channels) start = quant::pad_channels(source, platform, target_.prepare);
  Model model = quant::prepare(start.model, platform, target_.prepare);
  for (const auto& [weights, activations] : target_.bits) quant::set_bits(model, "*", weights, activations);
  auto warnings = train::calibrate(model, seen, {}, pool).warnings;
  Source origin{std::move(start.model), {}};
  for (const Value argument : origin.network.graph.arguments())
    origin.samples.emplace(argument.name(), network_.inputs.at(argument.name()));
  quant::clear_layers(origin.network);
  model.source = std::make_shared<const Source>(std::move(origin));
  return {std::move(model), std::move(warnings)};
}

const Trial::Calibrated& Trial::calibrated() {
  return calibrated_.get([&] { return calibrate(source(), tools_.pool); });
}

Model Trial::prepared_from(int64_t batch, ThreadPool& pool) {
  std::map<std::string, Dims> dims;
  for (const Value argument : source().graph.arguments()) {
    Dims& known = dims.emplace(argument.name(), argument.dims()).first->second;
    if (!known.empty()) known.front() = batch;
  }
  return calibrate(import_with(bytes_, dims, {}), pool).model;
}

const quant::Conversion& Trial::conversion() {
  return conversion_.get([&] {
    auto conversion = quant::convert(prepared(), {.float_fallback = true});
    fallbacks_ = conversion.fallbacks;
    return conversion;
  });
}

const verify::ExecutionPaths& Trial::paths() {
  return paths_.get([&] { return tools_.paths_of(prepared(), integer()); });
}

const Answered& Trial::answered() {
  return answered_.get([&] { return answer(*this, kDraws); });
}

Tensors run_model(const Model& model, const Tensors& inputs, ThreadPool& pool, const RunOptions& options,
                  const std::vector<std::string>& fetch) {
  Tensors fed;
  std::map<std::string, Dims> dims;
  for (const Value argument : model.graph.arguments()) {
    const Tensor& tensor = inputs.at(argument.name());
    fed.emplace(argument.name(), tensor);
    dims.emplace(argument.name(), tensor.dims());
  }
  CompileOptions compile_options;
  compile_options.level = options.level;
  compile_options.fetch = fetch;
  if (options.reference) {
    compile_options.optimize = false;
    compile_options.place = Place{DeviceKind::sim};
  }
  return compile(specialize(model, dims), compile_options).run(fed, pool);
}

}  // namespace halfstep::fuzz
