#include "halfstep/api/export_c.h"

#include <algorithm>

#include "halfstep/api/detail/declared_codes.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/c/c_text.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/verify/equivalence/compared_programs.h"

namespace halfstep::api {
namespace {

/// Limit of sample bytes in a test program, whose text is four times as large. It always has at least one sample.
constexpr size_t kMostTestBytes = size_t{256} << 10;
constexpr int64_t kMostTestSamples = 8;

Model program_of(const Model& network, const ExportCOptions& options) {
  switch (stage_of(network)) {
    case Stage::integer: return network;
    case Stage::prepared:
      return quant::convert(with_declared_codes(network), {.float_fallback = options.float_fallback}).model;
    case Stage::float_network: break;
  }
  fail(errors::wrong_stage(place_of(network), "a float network", "a prepared network or an integer program",
                           "run quantize first"));
}

/// Samples for calls of the program, `count` samples per call.
class CallSource {
 public:
  CallSource(const Model& network, const Dataset* data) {
    if (data != nullptr) {
      samples_ = parts_for(network, *data).test;
      calls_ = samples_->size() / batch(network);
    } else if (network.source) {
      kept_ = network.source.get();
      calls_ = network.source->sample_count() / batch(network);
    }
    batch_ = batch(network);
  }
  int64_t calls() const { return calls_; }
  /// Returns the extents of the arguments, from the samples.
  std::map<std::string, Dims> extents() const {
    std::map<std::string, Dims> found;
    if (calls_ == 0) return found;
    for (const auto& [name, tensor] : inputs(0)) found.emplace(name, tensor.dims());
    return found;
  }
  Tensors inputs(int64_t call) const {
    return samples_ ? samples_->inputs(call * batch_, batch_) : kept_->inputs(call * batch_, batch_);
  }

 private:
  static int64_t batch(const Model& network) { return data::batch_of(network, 1); }
  std::optional<data::Samples> samples_;
  const Source* kept_ = nullptr;
  int64_t calls_ = 0, batch_ = 1;
};

std::vector<Tensor> in_memory(const std::vector<formats::c::CPort>& ports, const Tensors& values) {
  std::vector<Tensor> tensors;
  for (const formats::c::CPort& port : ports)
    tensors.push_back(formats::c::to_memory(values.at(port.codes), port.is_image));
  return tensors;
}

size_t bytes_of(const formats::c::CProgram& program) {
  size_t bytes = 0;
  for (const auto& ports : {program.inputs, program.outputs}) {
    for (const formats::c::CPort& port : ports)
      bytes += static_cast<size_t>(count_elements(port.type.dims)) * size_of(port.type.dtype);
  }
  return bytes;
}

std::vector<formats::c::Case> cases_of(const Model& integer, const formats::c::CProgram& program,
                                       const CallSource& source) {
  if (source.calls() == 0) fail(errors::no_samples_kept(integer.graph.name()));
  const auto most = static_cast<int64_t>(std::max<size_t>(1, kMostTestBytes / std::max<size_t>(1, bytes_of(program))));
  std::vector<std::string> fetch;
  for (const auto& ports : {program.inputs, program.outputs}) {
    for (const formats::c::CPort& port : ports) {
      if (std::ranges::find(fetch, port.codes) == fetch.end()) fetch.push_back(port.codes);
    }
  }
  std::vector<formats::c::Case> cases;
  auto runnable = verify::program_of(integer, source.inputs(0), fetch);
  ThreadPool pool(1);
  for (int64_t call = 0; call < std::min({source.calls(), most, kMostTestSamples}); ++call) {
    const Tensors inputs = source.inputs(call);
    Tensors values = runnable.run(inputs, pool);
    values.insert(inputs.begin(), inputs.end());
    cases.push_back({in_memory(program.inputs, values), in_memory(program.outputs, values)});
  }
  return cases;
}

ExportCResult write_program(const Model& network, const CallSource& source, const std::filesystem::path& folder,
                            const ExportCOptions& options) {
  const Model integer = program_of(network, options);
  const std::string name = options.name ? *options.name : formats::c::to_c_identifier(network.graph.name());
  formats::c::CProgram program = formats::c::c_program(
      integer,
      {.name = name, .hooks = options.hooks, .float_fallback = options.float_fallback, .extents = source.extents()});
  ExportCResult report{
      {}, 0, program.arena_bytes, program.weight_bytes, program.constant_bytes, program.uses_floats, program.fallbacks};
  if (options.main) {
    const auto cases = cases_of(integer, program, source);
    report.samples = static_cast<int64_t>(cases.size());
    program.files.push_back(formats::c::test_program(program, cases));
  }
  const io::Claim claim = io::Claim::of_folder(folder);
  for (const formats::c::CFile& file : program.files) {
    if (!options.overwrite && std::filesystem::exists(folder / file.name))
      fail(errors::file_not_replaced((folder / file.name).string(), "folder"));
  }
  std::vector<io::NewFile> files;
  for (const formats::c::CFile& file : program.files) {
    files.push_back({folder / file.name, std::as_bytes(std::span(file.text))});
    report.files.push_back(file.name);
  }
  io::write_files(files);
  return report;
}

}  // namespace

ExportCResult export_c(const Model& network, const Dataset& data, const std::filesystem::path& folder,
                       const ExportCOptions& options) {
  return write_program(network, CallSource(network, &data), folder, options);
}

ExportCResult export_c(const Model& network, const std::filesystem::path& folder, const ExportCOptions& options) {
  return write_program(network, CallSource(network, nullptr), folder, options);
}

}  // namespace halfstep::api
