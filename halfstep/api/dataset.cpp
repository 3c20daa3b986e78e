#include "halfstep/api/dataset.h"

#include "halfstep/api/model.h"
#include "halfstep/base/embedded.h"
#include "halfstep/formats/import.h"
#include "halfstep/train/network.h"

namespace halfstep::api {
namespace {

/// Throws where a named tensor of the samples, or their x, is not what `argument` takes.
void require_fit(const Graph& graph, const Value& argument, const Dims& found, const Dataset& data) {
  const Dims& expected = argument.dims();
  bool fits = expected.size() == found.size();
  for (size_t axis = 1; fits && axis < expected.size(); ++axis)
    fits = expected[axis] == kUnknown || expected[axis] == found[axis];
  if (!fits)
    fail("{}: samples are {}, network '{}' takes {}", data.name, to_string(found), graph.name(), to_string(expected));
  if (const auto named = data.inputs.find(argument.name());
      named != data.inputs.end() && named->second.dtype() != argument.dtype())
    fail("{}: '{}' is {}, network '{}' takes {}", data.name, argument.name(), name(named->second.dtype()), graph.name(),
         name(argument.dtype()));
}

/// Throws where the samples are not what the arguments take.
void require_fit(const Model& model, const Dataset& data) {
  const Graph& graph = model.graph;
  if (graph.arguments().empty()) fail("network '{}': has no input, so that data mean nothing to it", graph.name());
  const train::Samples samples{&data, {}, graph.arguments().front().name(), train::preprocess_of(model)};
  const auto extents = samples.extents(kUnknown);
  for (const Value argument : graph.arguments()) {
    const auto found = extents.find(argument.name());
    if (found == extents.end())
      fail("{}: has nothing for input '{}' ({}) of network '{}'", data.name, argument.name(),
           to_string(argument.type()), graph.name());
    require_fit(graph, argument, found->second, data);
  }
  for (const auto& [name, dims] : extents) {
    if (!graph.value(name)) fail("{}: tensor '{}' is no input of network '{}'", data.name, name, graph.name());
  }
}

/// Throws for a label that the outputs of a classifier do not reach.
void require_outputs(const Model& model, const Dataset& data) {
  const int64_t classes = classes_of(model);
  if (!data.has_labels() || classes == io::kMaxClasses) return;
  const auto labels = data.labels.data<int32_t>();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= classes)
      fail("{}: label {} is {}, expected 0 to {}: network '{}' tells {} classes apart", data.name, i, labels[i],
           classes - 1, model.graph.name(), classes);
  }
}

void require_every_class(const Dataset& data) {
  const int64_t fewest =
      data.split ? 1 : 3;  // a stratified split leaves the test part a fifth, which rounds to none of two
  std::vector<int64_t> samples(data.classes.size());
  for (const int32_t label : data.labels.data<int32_t>()) ++samples[static_cast<size_t>(label)];
  for (size_t label = 0; label < samples.size(); ++label) {
    if (samples[label] >= fewest) continue;
    fail("{}: labels go up to '{}': found {} samples of class '{}', expected at least {}", data.name,
         data.classes.back(), samples[label], data.classes[label], fewest);
  }
}

}  // namespace

Dataset load_data(const std::string& path, int64_t classes) {
  if (!path.empty()) return io::load_dataset(path, classes);
  return io::load_dataset(embedded("models/optdigits.csv.gz"), "optdigits.csv.gz", classes);
}

int64_t classes_of(const Model& model) {
  const Dims& logits = model.graph.outputs().front().dims();
  return logits.size() == 2 && logits[1] != kUnknown ? logits[1] : io::kMaxClasses;
}

LoadedPair load_both(const std::filesystem::path& network, const std::string& data,
                     const std::optional<train::Preprocess>& preprocess) {
  LoadedPair pair;
  if (formats::is_foreign(network)) {
    pair.data = load_data(data);
    pair.network = load(network, pair.data, preprocess);
  } else {
    pair.network = load(network);
    pair.data = load_data(data, classes_of(pair.network));
  }
  return pair;
}

train::TrainTest parts_for(const Model& model, const Dataset& data) {
  require_fit(model, data);
  require_outputs(model, data);
  train::TrainTest parts = train::split(data);
  parts.feed(model);
  return parts;
}

Model create_network(const std::string& architecture, const Dataset& data, uint64_t seed) {
  require_every_class(data);
  Model model =
      train::create_network(architecture, data.sample_dims(), static_cast<int64_t>(data.classes.size()), seed);
  train::set_preprocess(model, train::natural_scale(train::split(data).train));
  return model;
}

}  // namespace halfstep::api
