// Samples: from a path to a Dataset in memory, and what they must be for a network.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::api {

/// Names the built-in digits where a path is expected.
inline constexpr const char* kDigits = "digits";

/// The data set at `path` (docs/data.md has the layouts), or the built-in digits for kDigits.
/// Labels lie in [0, classes).
Dataset load_data(const std::string& path, int64_t classes = data::kMaxClasses, const DataOptions& options = {});

/// Tensors by name, as an npz has them; `name` starts the messages.
Dataset make_data(const Tensors& tensors, const std::string& name, const DataOptions& options = {});

/// Outputs of a classifier; data::kMaxClasses where the network is none.
int64_t classes_of(const Model& model);

/// A network, and samples for it.
struct LoadedPair {
  Model network;
  Dataset data;
};

/// Both, each read once: `load` for the samples, whose labels are those that the network tells apart.
LoadedPair load_both(const std::filesystem::path& network, const std::string& data, const DataOptions& options = {},
                     const data::PreprocessOptions& preprocess = {});

/// The parts of `data` for `model`; throws where its samples are not what the model's arguments take, with what brings
/// pictures to their size, or a label is beyond its outputs. `data` must outlive them.
data::TrainTest parts_for(const Model& model, const Dataset& data);

/// What a user should know of `data` before he believes what `model` says of it: raw values that nothing preprocesses,
/// and images that were left out. Sentences, mostly none.
std::vector<std::string> notes_on(const Model& model, const Dataset& data);

/// A new network of an architecture ("digits", or the path of an .ir text) for the samples, with the scale of their
/// values as its preprocessing. Throws where a class has no sample to train on or to test on: an output for it would
/// learn nothing. `preprocess` goes over that scale; pictures of many sizes need a frame in it.
Model create_network(const std::string& architecture, const Dataset& data, uint64_t seed,
                     const data::PreprocessOptions& preprocess = {});

}  // namespace halfstep::api
