#include "halfstep/api/inputs/model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/api/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/file_kind.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/engine/eager/call.h"
#include "halfstep/formats/import/import.h"
#include "halfstep/passes/graph/separate_names.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace halfstep::api {
namespace {

/// Extents of the inputs with dynamic dimensions taken from the samples. The first extent is `batch`.
std::map<std::string, Dims> closed_extents(const formats::Summary& summary, const data::Samples& samples,
                                           int64_t batch) {
  std::map<std::string, Dims> closed;
  const auto found = samples.extents(batch);
  for (const formats::Port& port : summary.inputs) {
    const auto at = found.find(port.name);
    if (at == found.end() || at->second.size() != port.dims.size()) continue;
    Dims dims = port.dims;
    for (size_t axis = 0; axis < dims.size(); ++axis)
      dims[axis] = dims[axis] == kUnknown ? at->second[axis] : dims[axis];
    closed.emplace(port.name, std::move(dims));
  }
  return closed;
}

formats::Binding dynamic_dims() {
  formats::Binding binding;
  binding.evaluate = eager::call;
  return binding;
}

/// Imports a Model. Names are made unique here, so that all later stages share them.
Model imported(const formats::File& file, const formats::Binding& binding) {
  Model model = file.import(binding);
  passes::separate_names(model);
  return model;
}

/// Imports the network, and reports all unsupported parts at once.
Model imported_whole(const formats::File& file, const formats::Binding& binding) {
  Model model = formats::import_whole(file, binding);
  passes::separate_names(model);
  return model;
}

/// Returns the Model, or nullopt if it cannot be translated with these extents. Then `why` has the reason.
std::optional<Model> try_import(const formats::File& file, const formats::Binding& binding, std::string& why) {
  try {
    return imported(file, binding);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    why = error.what();
    return std::nullopt;
  }
}

/// Records which dynamic dimensions of the file are fixed in the Model, and which operator required it.
Model with_closed_extents(Model model, const formats::Summary& summary, const std::string& why) {
  std::vector<std::string> closed;
  for (const formats::Port& port : summary.inputs) {
    const Value argument = model.graph.value(port.name);
    if (argument && argument.dims() != port.dims)
      closed.push_back(fmt::format("'{}' of {} is {}", port.name, port.type, to_string(argument.type())));
  }
  if (!closed.empty())
    model.metadata.closed_extents = fmt::format(
        "the inputs have fixed extents, and the network accepts no others: {}; {}", fmt::join(closed, ", "), why);
  return model;
}

/// Loads a Halfstep Model. Messages identify other kinds of files. Opens only regular files, because opening a pipe
/// would wait.
Model load_own(const std::filesystem::path& path) {
  std::error_code failed;
  const bool is_other = std::filesystem::is_directory(path, failed) ||
                        (std::filesystem::is_regular_file(path, failed) && !is_model_file(path));
  const io::FileKind kind = is_other ? io::file_kind(path) : io::FileKind();
  if (!kind.what.empty()) fail(errors::not_a_network_file(path.string(), kind.what, kind.remedy));
  return load_model(path);
}

}  // namespace

Model load(const std::filesystem::path& path) {
  return formats::is_foreign(path) ? imported_whole(*formats::open(path), dynamic_dims()) : load_own(path);
}

Model load_onnx(std::span<const std::byte> bytes, const std::string& name) {
  return imported_whole(*formats::open_bytes(bytes, name), dynamic_dims());
}

Model load(const std::filesystem::path& path, const Dataset& data, const data::PreprocessOptions& preprocess) {
  if (!formats::is_foreign(path)) return load_own(path);
  const auto file = formats::open(path);
  formats::Binding binding = dynamic_dims();
  std::string why, again;
  if (auto model = try_import(*file, binding, why)) return std::move(*model);
  const formats::Summary summary = file->summary();
  const auto first = std::ranges::find_if(summary.inputs, [](const auto& port) { return !port.has_default; });
  if (first == summary.inputs.end()) return imported_whole(*file, binding);
  const data::Samples samples{&data, {}, first->name, data::applied(preprocess, {})};
  binding.dims = closed_extents(summary, samples, kUnknown);
  if (auto model = try_import(*file, binding, again)) return with_closed_extents(std::move(*model), summary, why);
  binding.dims = closed_extents(summary, samples, 1);
  return with_closed_extents(imported_whole(*file, binding), summary, why == again ? why : why + "; " + again);
}

namespace {

/// Returns "found a float network, expected a prepared one; run quantize first".
Diagnostic other_stage(const std::string& place, Stage found, Stage expected) {
  const std::string_view next = expected < found              ? "use its source network"
                                : expected == Stage::prepared ? "run quantize first"
                                : found == Stage::prepared    ? "run convert first"
                                                              : "run quantize and convert first";
  const auto article = [](Stage stage) { return stage == Stage::integer ? "an" : "a"; };
  return errors::wrong_stage(place, fmt::format("{} {} network", article(found), name(found)),
                             fmt::format("{} {} one", article(expected), name(expected)), next);
}

}  // namespace

std::optional<std::string> note_on_quantizers(const Model& model) {
  std::vector<std::string> quantizers = model.metadata.quantizers_as_arithmetic;
  if (quantizers.empty()) return std::nullopt;
  for (std::string& name : quantizers) name = quote(name);
  return fmt::format(
      "the network is already quantized: {} compute codes, and stay in it as float arithmetic; use the float source "
      "model",
      fmt::join(quantizers, ", "));
}

Model load_stage(const std::filesystem::path& path, Stage expected) {
  if (formats::is_foreign(path))
    fail(errors::wrong_stage(path.string(), "a network of another framework",
                             expected == Stage::integer ? "an integer Model" : "a prepared Model",
                             expected == Stage::integer ? "run convert first" : "run quantize first"));
  Model model = load_own(path);
  if (const Stage found = stage_of(model); found != expected) fail(other_stage(path.string(), found, expected));
  return model;
}

Model load_text(const std::filesystem::path& path, uint64_t seed) {
  return train::initialize(parse(io::read_text_file(path), path.filename().string()), seed);
}

void save(const Model& model, const std::filesystem::path& path) { save_model(model, path); }

Stage stage_of(const Model& model) {
  if (model.metadata.stage == Stage::integer) quant::require_program(model);
  return model.metadata.stage;
}

std::string place_of(const Model& model) { return fmt::format("network '{}'", model.graph.name()); }

void require_stage(const Model& model, Stage expected) {
  if (const Stage found = stage_of(model); found != expected) fail(other_stage(place_of(model), found, expected));
}

std::string graph_text(const Model& model) { return print(model.graph); }

}  // namespace halfstep::api
