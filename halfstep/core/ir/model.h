// A graph with the contents of its tensors. All rooms above engine/runtime exchange it, and a model file stores it.
//
// The file is a safetensors file with the graph's text in its metadata. Any tool can read the weights, and a person can
// read the graph:
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
// Tensors keep names and types, except that 4-bit codes are packed as U8, two per byte, the first in the low half.
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
  Metadata metadata;                      ///< processing history and decisions
  /// Source model of a quantized network. Null for other networks. Immutable and shared by copies.
  std::shared_ptr<const Source> source;
};

/// A source model before any rewriting, and sample inputs for it.
struct Source {
  Model network;  ///< has no source of its own
  /// Tensors [samples, ...] for its arguments, by name, with shape [samples] for an argument without axes. Empty if the
  /// user chose to keep none.
  Tensors samples;

  int64_t sample_count() const { return samples.empty() ? 0 : samples.begin()->second.dims()[0]; }
  /// Returns samples [begin, begin + count) for the network's arguments. An argument without axes receives one sample.
  Tensors inputs(int64_t begin, int64_t count) const;
};

/// Checks that exactly the declared tensors have contents, that types match (4-bit codes in -8..7), and that the
/// metadata agrees with graph and tensors. Checks the source in the same way, and that its samples match its arguments.
void check(const Model& model);

/// Returns a deep copy. An ordinary copy of a Model shares tensor storage.
Model clone(const Model& model);

/// Returns a copy with the given extents of the arguments, by name, and with all types inferred again. It shares tensor
/// storage. Arguments not named must already be static. Known extents cannot change.
Model specialize(const Model& model, const std::map<std::string, Dims>& argument_dims);

/// XXH3-64 of names, types and bytes of parameters and state. Equal for equal trained weights.
uint64_t digest(const Model& model);
/// Returns the digest as 16 hex digits.
std::string digest_hex(const Model& model);

inline constexpr int kModelFileVersion = 3;

/// Returns the metadata as the JSON object of a model file. Throws for text that is not UTF-8.
std::string metadata_json(const Model& model);

/// Equal models produce equal bytes. Checks the model first. Names and metadata must be UTF-8.
std::vector<std::byte> serialize(const Model& model);
/// Reads untrusted bytes. Checks layout, version, checksum, graph and types. `name` starts the messages.
Model deserialize(std::span<const std::byte> bytes, const std::string& name);

/// Writes a temporary file and renames it to `path`, so the file is complete or absent.
void save_model(const Model& model, const std::filesystem::path& path);
Model load_model(const std::filesystem::path& path);

/// Whether `path` is a safetensors file that contains a graph. Reads only the header, so a load may still fail.
bool is_model_file(const std::filesystem::path& path);

}  // namespace halfstep
