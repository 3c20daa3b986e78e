#include "halfstep/core/ir/source_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/metadata/earlier_notes.h"
#include "halfstep/core/ir/metadata/metadata_json.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"

namespace halfstep::detail {
namespace {

constexpr const char* kGraphKey = "halfstep.source.graph";
constexpr const char* kTensorsKey = "halfstep.source.tensors";
constexpr const char* kSamplesKey = "halfstep.source.samples";
constexpr const char* kPrefix = "halfstep.source.";
constexpr int kLastVersionOfNotes = 2;

/// Maps tensor names of the source to tensor names in the file.
using Places = std::map<std::string, std::string>;

/// Stores `tensor` in the file as `wanted`, or as the first free name of wanted.2, wanted.3, ...
std::string put(io::TensorFile& file, const std::string& wanted, Tensor tensor) {
  std::string name = wanted;
  for (int64_t number = 2; file.tensors.contains(name); ++number) name = fmt::format("{}.{}", wanted, number);
  file.tensors.emplace(name, std::move(tensor));
  return name;
}

void write_places(io::TensorFile& file, const char* key, const Places& places) {
  if (!places.empty()) file.metadata.emplace(key, nlohmann::json(places).dump());
}

Places read_places(const io::TensorFile& file, const char* key, const std::string& name) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return {};
  const auto json = nlohmann::json::parse(found->second, nullptr, false);
  const auto is_text = [](const auto& place) { return place.is_string(); };
  if (!json.is_object() || !std::all_of(json.begin(), json.end(), is_text))
    fail(errors::source_list_malformed(name, key, quote(found->second.substr(0, 60))));
  return json.get<Places>();
}

const Tensor& tensor_at(const io::TensorFile& file, const std::string& place, const std::string& name) {
  const auto found = file.tensors.find(place);
  if (found == file.tensors.end()) fail(errors::source_tensor_missing(name, place));
  return found->second;
}

}  // namespace

Metadata metadata_in(const io::TensorFile& file, int version, const std::string& prefix, const Graph& graph,
                     const std::string& name) {
  if (version <= kLastVersionOfNotes) {
    const std::string note = prefix + "note.";
    std::map<std::string, std::string> notes;
    for (const auto& [key, text] : file.metadata) {
      if (key.starts_with(note)) notes.emplace(key.substr(note.size()), text);
    }
    return metadata_of_notes(notes, graph, name);
  }
  const std::string key = prefix + kMetadata;
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) fail(errors::not_a_model_file(name, key));
  return parse_metadata(found->second, fmt::format("{}: {}", name, key));
}

Tensor packed(const Tensor& tensor) { return io::safetensors_has(tensor.dtype()) ? tensor : io::pack(tensor); }

Tensor unpacked(const Tensor& tensor, Value declared, const std::string& name) {
  if (io::safetensors_has(declared.dtype())) return tensor;
  return io::unpack(tensor, declared.type(), fmt::format("{}: tensor '{}'", name, declared.name()));
}

void add_source(io::TensorFile& file, const Model& model) {
  const Model& network = model.source->network;
  Places tensors, samples;
  for (const auto& [name, tensor] : network.tensors) {
    const auto same = model.tensors.find(name);
    if (same != model.tensors.end() && same->second.same_bits(tensor)) continue;
    tensors[name] = put(file, "halfstep.source/" + name, packed(tensor));
  }
  for (const auto& [name, tensor] : model.source->samples)
    samples[name] = put(file, "halfstep.samples/" + name, tensor);
  file.metadata.emplace(kGraphKey, print(network.graph, {.locations = true}));
  file.metadata.emplace(std::string(kPrefix) + kMetadata, metadata_text(network.metadata));
  write_places(file, kTensorsKey, tensors);
  write_places(file, kSamplesKey, samples);
}

std::shared_ptr<const Source> take_source(io::TensorFile& file, int version, const std::string& name) {
  const auto text = file.metadata.find(kGraphKey);
  if (text == file.metadata.end()) return nullptr;
  Source source;
  Model& network = source.network;
  network.graph = parse(text->second, name + ": source", {.locations = false});
  with_prefix(name + ": source", [&] { verify(network.graph); });
  const Places tensors = read_places(file, kTensorsKey, name), samples = read_places(file, kSamplesKey, name);
  std::set<std::string> own;
  for (const Value declared : network.graph.tensors()) {
    const auto elsewhere = tensors.find(declared.name());
    const std::string& place = elsewhere == tensors.end() ? declared.name() : elsewhere->second;
    network.tensors[declared.name()] = unpacked(tensor_at(file, place, name), declared, name);
    if (elsewhere != tensors.end()) own.insert(place);
  }
  for (const auto& [argument, place] : samples) {
    source.samples[argument] = tensor_at(file, place, name);
    own.insert(place);
  }
  for (const std::string& place : own) file.tensors.erase(place);
  network.metadata = metadata_in(file, version, kPrefix, network.graph, name);
  return std::make_shared<const Source>(std::move(source));
}

}  // namespace halfstep::detail
