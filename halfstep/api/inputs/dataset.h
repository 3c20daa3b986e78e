// Samples: loading from a path to a Dataset, and checks against a network.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/samples.h"

namespace halfstep::api {

/// Name of the built-in digits, accepted in place of a path.
inline constexpr const char* kDigits = "digits";

/// Loads the data set at `path` (docs/guides/use_data.md has the layouts), or the built-in digits for kDigits.
/// Labels must be in [0, classes).
Dataset load_data(const std::string& path, int64_t classes = data::kMaxClasses, const DataOptions& options = {});

/// Creates a data set from named tensors, as an npz has them. `name` starts the messages.
Dataset make_data(const Tensors& tensors, const std::string& name, const DataOptions& options = {});

/// Number of outputs of a classifier. data::kMaxClasses for other networks.
int64_t classes_of(const Model& model);

/// A network and matching samples.
struct LoadedPair {
  Model network;
  Dataset data;
};

/// Loads both, each once. `load` reads the network for these samples. Labels must be among the classes of the network.
LoadedPair load_both(const std::filesystem::path& network, const std::string& data, const DataOptions& options = {},
                     const data::PreprocessOptions& preprocess = {});

/// Splits `data` for `model`. Throws if the samples do not match the model's arguments, with a remedy for picture
/// sizes, or if a label exceeds its outputs. `data` must outlive the result.
data::TrainTest parts_for(const Model& model, const Dataset& data);

/// Returns warnings about `data` that affect results of `model`, as sentences: raw values without preprocessing, and
/// skipped images. Usually empty.
std::vector<std::string> notes_on(const Model& model, const Dataset& data);

/// Creates a network of an architecture ("digits", or the path of an .ir text) for the samples. Its preprocessing
/// scales the values of the samples. Throws if a class has no training or no test sample, because its output would
/// learn nothing. `preprocess` overrides the scale. Pictures of several sizes need a frame in it.
Model create_network(const std::string& architecture, const Dataset& data, uint64_t seed,
                     const data::PreprocessOptions& preprocess = {});

}  // namespace halfstep::api
