// Loading and saving of networks.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "halfstep/api/settings.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/data/pipeline/preprocess.h"

namespace halfstep::api {

/// Loads a Halfstep Model of any stage, or a network exported by another framework (ONNX, Paddle). Dynamic dimensions
/// stay dynamic. Throws unsupported and lists everything that Halfstep lacks.
Model load(const std::filesystem::path& path);

/// Loads a network from the bytes of an ONNX file. Dynamic dimensions stay dynamic. `name` is its name in messages.
Model load_onnx(std::span<const std::byte> bytes, const std::string& name);

/// Loads a network for samples. If a foreign file cannot be translated with dynamic dimensions, those of a sample are
/// used, if necessary with a batch of one. The metadata of the Model then records the fixed dimensions and the operator
/// that required them (closed_extents), and reports show them (notes_on).
Model load(const std::filesystem::path& path, const Dataset& data, const data::PreprocessOptions& preprocess = {});

using halfstep::name;
using halfstep::Stage;
/// Throws for an integer program that contains float computation.
Stage stage_of(const Model& model);
/// Returns "network 'digits'", the place of an error about the whole network.
std::string place_of(const Model& model);

/// Returns a note if the file makes codes in operators that the Model computes as float arithmetic (QONNX).
std::optional<std::string> note_on_quantizers(const Model& model);

/// Loads a Halfstep Model. Throws if it has another stage.
Model load_stage(const std::filesystem::path& path, Stage expected);

/// Loads a network from an .ir text, with random contents from `seed`.
Model load_text(const std::filesystem::path& path, uint64_t seed);

/// Writes a file for `load`, atomically.
void save(const Model& model, const std::filesystem::path& path);

/// Returns the graph as `.ir` text.
std::string graph_text(const Model& model);

/// Throws bad_input for a network of another stage. The message names the network and the verb to run first.
void require_stage(const Model& model, Stage expected);

}  // namespace halfstep::api
