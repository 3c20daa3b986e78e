#include "halfstep/api/deploy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>

#include "halfstep/api/detail/declared_codes.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "halfstep/formats/vendor/ranges.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/passes/quantized/transposed_again.h"
#include "halfstep/quant/platform/platform_files.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::api {
namespace {

using formats::onnx::ExportForm;

struct RangeFile {
  const char* ending;
  std::string (*write)(const Model& prepared, const formats::vendor::Ranges& ranges);
};

const std::map<std::string, RangeFile>& range_files() {
  static const std::map<std::string, RangeFile> kFiles = {
      {"tensorrt_ranges", {"_clip_ranges.json", formats::vendor::tensorrt_ranges}},
      {"snpe_encodings", {"_clip_ranges.json", formats::vendor::snpe_encodings}},
      {"ppl_ranges", {"_clip_ranges.json", formats::vendor::ppl_ranges}},
      {"pplcuda_ranges", {"_clip_ranges.txt", formats::vendor::pplcuda_ranges}},
      {"vitis_scales", {"_clip_ranges.json", formats::vendor::vitis_scales}},
      {"nnie_parameters", {"_gfpq_param_dict.json", formats::vendor::nnie_parameters}},
      {"tengine_scales", {"_for_tengine.scale", formats::vendor::tengine_scales}},
      {"stpu_ranges", {"_stpu_minmax.json", formats::vendor::stpu_ranges}}};
  return kFiles;
}

struct ModelFile {
  const char* ending;
  ExportForm form;
};

const std::map<std::string, ModelFile>& model_files() {
  static const std::map<std::string, ModelFile> kFiles = {
      {"float_model", {".onnx", ExportForm::floats}},
      {"fake_quantize_model", {"_fake_quantize.onnx", ExportForm::fake_quantize}},
      {"qdq_model", {"_qdq.onnx", ExportForm::pairs}}};
  return kFiles;
}

/// Clips weights to the range of their quantizers, so that other tools derive the same codes.
void clip_weights(Model& model, const formats::vendor::Ranges& ranges) {
  for (const auto& quantizer : model.graph.all<ops::FakeQuantize>()) {
    if (!quantizer.x().is_tensor()) continue;
    const auto found = std::ranges::find(ranges.all, quantizer.x().name(), &formats::vendor::Range::tensor);
    Tensor& weight = model.tensors.at(quantizer.x().name());
    weight = weight.clone();
    const Dims& dims = weight.dims();
    const auto axis = static_cast<size_t>(std::max<int64_t>(quantizer.axis(), 0));
    const size_t channels = found->scale.size();
    const auto run = static_cast<size_t>(count_elements(std::span(dims).subspan(axis + (channels > 1 ? 1 : 0))));
    const auto elements = weight.data<float>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const size_t c = channels == 1 ? 0 : i / run % channels;
      elements[i] = std::clamp(elements[i], static_cast<float>(found->least(c)), static_cast<float>(found->largest(c)));
    }
  }
}

std::string platforms_with_files() {
  std::vector<std::string> names;
  for (const std::string& name : quant::platform_names()) {
    if (!quant::load_platform(name).deploy.empty()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<std::string> export_deploy(const Model& prepared, const OutFile& out) {
  require_stage(prepared, Stage::prepared);
  const quant::Platform& platform = quant::platform_of(prepared);
  if (platform.deploy.empty()) fail(errors::platform_without_files(platform.name, platforms_with_files()));
  Model network = with_declared_codes(prepared);
  passes::set_mode(network.graph, passes::Mode::evaluation);
  passes::close_learned_parts(network);
  passes::transposed_again(network);
  const formats::vendor::Ranges ranges = formats::vendor::ranges_of(network);
  clip_weights(network, ranges);

  io::require_folder_target(out.path);
  std::map<std::string, std::string> files;
  for (const std::string& format : platform.deploy) {
    const std::string& name = prepared.graph.name();
    if (const auto range = range_files().find(format); range != range_files().end()) {
      files[name + range->second.ending] = range->second.write(network, ranges);
      continue;
    }
    const ModelFile& model = model_files().at(format);
    const formats::onnx::ExportOptions options{.form = model.form,
                                               .external_above = std::numeric_limits<size_t>::max()};
    files[name + model.ending] = formats::onnx::export_model(network, options, "").message;
  }
  const io::Claim claim = io::Claim::of_folder(out.path);
  for (const auto& [name, contents] : files) {
    if (!out.overwrite && std::filesystem::exists(out.path / name))
      fail(errors::file_not_replaced((out.path / name).string(), "folder"));
  }
  std::vector<io::NewFile> written;
  std::vector<std::string> names;
  for (const auto& [name, contents] : files) {
    written.push_back({out.path / name, std::as_bytes(std::span(contents))});
    names.push_back(name);
  }
  io::write_files(written);
  return names;
}

}  // namespace halfstep::api
