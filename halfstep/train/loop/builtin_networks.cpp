#include "halfstep/train/loop/builtin_networks.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/train/loop/errors.h"

namespace halfstep::train {
namespace {

constexpr std::string_view kGraphSuffix = ".ir";

std::string read_network(const std::string& name) {
  const std::string built_in = "models/" + name + std::string(kGraphSuffix);
  if (const auto bytes = find_embedded(built_in)) return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
  if (name.ends_with(kGraphSuffix)) {
    std::error_code failed;  // reading a pipe would block
    std::ifstream stream;
    if (std::filesystem::is_regular_file(name, failed)) stream.open(name, std::ios::binary);
    if (!stream.is_open()) fail(errors::network_file_unreadable(name));
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_files()) {
    const std::filesystem::path path(file.path);
    if (path.extension() == kGraphSuffix) names.push_back(path.stem().string());
  }
  fail(errors::network_unknown(name, did_you_mean(name, names)));
}

void substitute(std::string& text, const std::string& placeholder, int64_t value) {
  for (size_t at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder, at))
    text.replace(at, placeholder.size(), std::to_string(value));
}

enum class Fill { zeros, ones, he_normal };

/// Chosen by the port that reads the tensor: weight, factor or variance of a normalization, or other.
Fill fill_of(Value tensor) {
  for (const auto& [op, operand] : tensor.uses()) {
    const OpInfo& info = op.info();
    const int port = op.port_of(operand);
    if (info.quant.trait == Trait::weighted && port == info.quant.weight) return Fill::he_normal;
    const std::string& port_name =
        port < static_cast<int>(info.inputs.size()) ? info.inputs[static_cast<size_t>(port)].name : std::string();
    if (port_name == "scale" || port_name == "variance") return Fill::ones;
  }
  return Fill::zeros;
}

Tensor draw(const Type& type, Fill fill, Random random) {
  Tensor tensor(type.dtype, type.dims);
  if (fill == Fill::zeros) return tensor;
  const double fan_in = static_cast<double>(tensor.size()) / static_cast<double>(type.dims[0]);
  const auto deviation = static_cast<float>(std::sqrt(2.0 / fan_in));
  for (float& value : tensor.data<float>()) value = fill == Fill::ones ? 1.0F : random.normal() * deviation;
  return tensor;
}

}  // namespace

Model initialize(Graph graph, uint64_t seed) {
  constexpr uint64_t kStream = uint64_t{1} << 32;  // separate from the streams of shuffling, which are numbers of
                                                   // epochs
  Model model;
  model.graph = std::move(graph);
  uint64_t index = 0;
  for (const Value tensor : model.graph.tensors())
    model.tensors[tensor.name()] = draw(tensor.type(), fill_of(tensor), Random(seed, kStream + index++));
  model.metadata.stage = stage_of_graph(model.graph, false);
  return model;
}

Model create_network(const std::string& name, const Dims& sample_dims, int64_t classes, uint64_t seed) {
  std::string text = read_network(name);
  if (sample_dims.size() != 3) fail(errors::network_takes_images(name, to_string(sample_dims)));
  substitute(text, "$channels", sample_dims[0]);
  substitute(text, "$height", sample_dims[1]);
  substitute(text, "$width", sample_dims[2]);
  substitute(text, "$classes", classes);
  return initialize(parse(text, std::filesystem::path(name).filename().string()), seed);
}

}  // namespace halfstep::train
