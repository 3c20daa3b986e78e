// Networks: from a file to a Model in memory and back.
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

/// The Model in a file of ours, of any stage, or what another framework exported (ONNX, Paddle), whose open extents
/// stay open. Throws unsupported with everything in it that Halfstep lacks.
Model load(const std::filesystem::path& path);

/// The network in the bytes of an ONNX file, whose open extents stay open; `name` is what messages call it.
Model load_onnx(std::span<const std::byte> bytes, const std::string& name);

/// The same for samples: where a foreign file cannot be translated with open extents, those of a sample are taken, and
/// if need be a batch of one. The metadata of the Model then say which are fixed (closed_extents), and for which
/// operator; reports show it (notes_on).
Model load(const std::filesystem::path& path, const Dataset& data, const data::PreprocessOptions& preprocess = {});

using halfstep::name;
using halfstep::Stage;
/// Throws for an integer program that computes in float.
Stage stage_of(const Model& model);
/// "network 'digits'": the place of an error that is about the whole network.
std::string place_of(const Model& model);

/// What to say of a network whose file makes codes in operators that the Model has as arithmetic on floats (QONNX).
std::optional<std::string> note_on_quantizers(const Model& model);

/// The Model in a file of ours; throws where it is of another stage.
Model load_stage(const std::filesystem::path& path, Stage expected);

/// The network of an .ir text, with contents drawn from `seed`.
Model load_text(const std::filesystem::path& path, uint64_t seed);

/// Writes a file that `load` reads: whole, or not at all.
void save(const Model& model, const std::filesystem::path& path);

/// The network's graph as `.ir` text.
std::string graph_text(const Model& model);

/// Throws bad_input, naming the network and the verb to run first, where it is of another stage.
void require_stage(const Model& model, Stage expected);

}  // namespace halfstep::api
