// A graph with the contents of its tensors: what every room above `runtime` passes on, and what a model file holds.
//
// The file is safetensors with the graph's text in the metadata, so that any tool can read the weights and a person the
// graph:
//
//   halfstep.version           "3"; files of "1" and "2" have notes in place of metadata (earlier_notes.h)
//   halfstep.graph             the text form, with locations
//   halfstep.checksum          XXH3-128 in hex, over the whole file with these 32 digits as zeros
//   halfstep.metadata          Model::metadata as JSON (metadata_fields.h has its keys)
//   halfstep.source.graph      the text form of Model::source, where there is one
//   halfstep.source.metadata   its metadata
//   halfstep.source.tensors    a JSON object: where the file has those of its tensors that are not the Model's of the
//                              same name, by name
//   halfstep.source.samples    the same of its samples
//
// Tensors keep names and types, but 4-bit codes are packed two to a byte as U8, the first in the low half.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/graph.h"
#include "halfstep/core/ir/metadata/metadata.h"

namespace halfstep {

struct Source;

struct Model {
  Graph graph;
  std::map<std::string, Tensor> tensors;  ///< contents of graph.tensors(), by name
  Metadata metadata;                      ///< what was done to the network, and what was decided then
  /// What a quantized network was made from; null for any other. Nobody changes it, and copies share it.
  std::shared_ptr<const Source> source;
};

/// A network as it came in, before anything was rewritten, and inputs that it may be tried on.
struct Source {
  Model network;  ///< without a source of its own
  /// Tensors [samples, ...] for its arguments, by name, [samples] for one without axes; none where nobody may have
  /// them.
  Tensors samples;

  int64_t sample_count() const { return samples.empty() ? 0 : samples.begin()->second.dims()[0]; }
  /// Samples [begin, begin + count) for the network's arguments; one of them where an argument has no axes.
  Tensors inputs(int64_t begin, int64_t count) const;
};

/// Every declared tensor has contents of its type (4-bit codes in -8..7), and nothing else has; the metadata agrees
/// with graph and tensors. So in the source, whose samples are what its arguments take.
void check(const Model& model);

/// A copy whose tensors share no storage; copying a Model shares theirs.
Model clone(const Model& model);

/// A copy with these extents for the arguments, by name, and all types inferred again; shares the tensors' storage.
/// Arguments that are not named must be static already. Extents that are known stay what they are.
Model specialize(const Model& model, const std::map<std::string, Dims>& argument_dims);

/// XXH3-64 of names, types and bytes of parameters and state: equal for equal trained weights.
uint64_t digest(const Model& model);
/// The digest as 16 hex digits.
std::string digest_hex(const Model& model);

inline constexpr int kModelFileVersion = 3;

/// The metadata as the JSON object that a file has; throws for text that is not UTF-8.
std::string metadata_json(const Model& model);

/// The same bytes for the same model; checks it first. Names and metadata must be UTF-8.
std::vector<std::byte> serialize(const Model& model);
/// Trusts nothing: layout, version, checksum, graph and types are checked. `name` starts the messages.
Model deserialize(std::span<const std::byte> bytes, const std::string& name);

/// Writes beside `path`, then renames: the file is whole or not there.
void save_model(const Model& model, const std::filesystem::path& path);
Model load_model(const std::filesystem::path& path);

/// Whether `path` is a safetensors file that has a graph; reads the header alone. Whether it loads is another question.
bool is_model_file(const std::filesystem::path& path);

}  // namespace halfstep
