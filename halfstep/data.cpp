#include "halfstep/data.h"

#include "halfstep/base/embedded.h"
#include "halfstep/quant/convert.h"
#include "halfstep/quant/prepare.h"

namespace halfstep {

namespace {

/// Outputs of a classifier, kUnknown when the Model is none.
int64_t classes_of(const Model& model) {
  const Dims& logits = model.graph.outputs().front().dims();
  return logits.size() == 2 ? logits[1] : kUnknown;
}

/// Throws where the samples are not what the arguments take.
void require_fit(const Model& model, const io::Dataset& data) {
  const Graph& graph = model.graph;
  if (graph.arguments().empty()) fail("network '{}': has no input, so that data mean nothing to it", graph.name());
  const train::Samples samples{&data, {}, graph.arguments().front().name(), train::preprocess_of(model)};
  const auto extents = samples.extents(kUnknown);
  for (const Value argument : graph.arguments()) {
    const auto found = extents.find(argument.name());
    if (found == extents.end())
      fail("{}: has nothing for input '{}' ({}) of network '{}'", data.name, argument.name(),
           to_string(argument.type()), graph.name());
    const Dims& expected = argument.dims();
    bool fits = expected.size() == found->second.size();
    for (size_t axis = 1; fits && axis < expected.size(); ++axis)
      fits = expected[axis] == kUnknown || expected[axis] == found->second[axis];
    if (!fits)
      fail("{}: samples are {}, network '{}' takes {}", data.name, to_string(found->second), graph.name(),
           to_string(expected));
    if (const auto named = data.inputs.find(argument.name());
        named != data.inputs.end() && named->second.dtype() != argument.dtype())
      fail("{}: '{}' is {}, network '{}' takes {}", data.name, argument.name(), name(named->second.dtype()),
           graph.name(), name(argument.dtype()));
  }
  for (const auto& [name, dims] : extents) {
    if (!graph.value(name)) fail("{}: tensor '{}' is no input of network '{}'", data.name, name, graph.name());
  }
}

}  // namespace

io::Dataset open_data(const std::string& path, int64_t classes) {
  if (!path.empty()) return io::load_dataset(path, classes);
  return io::load_dataset(embedded("models/optdigits.csv.gz"), "optdigits.csv.gz", classes);
}

io::Dataset open_data_for(const Model& model, const std::string& path) {
  const int64_t classes = classes_of(model);
  return open_data(path, classes == kUnknown ? io::kMaxClasses : classes);
}

void require_every_class(const io::Dataset& data) {
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

train::TrainTest parts_for(const Model& model, const io::Dataset& data) {
  require_fit(model, data);
  train::TrainTest parts = train::split(data);
  parts.feed(model);
  const int64_t outputs = classes_of(model);
  const auto classes = static_cast<int64_t>(data.classes.size());
  if (data.has_labels() && outputs != kUnknown && classes > outputs)
    fail("{}: found {} classes, network '{}' tells {} apart", data.name, classes, model.graph.name(), outputs);
  return parts;
}

std::string stage_of(const Model& model) {
  if (quant::is_prepared(model)) return "prepared";
  return quant::is_integer(model) ? "integer" : "float";
}

Model load_stage(const std::filesystem::path& path, std::string_view stage) {
  Model model = load_model(path);
  const std::string found = stage_of(model);
  if (found != stage) fail("{}: found a network of stage {}, expected {}", path.string(), found, stage);
  return model;
}

Place place_of(const std::string& text) {
  const auto place = parse_place(text);
  if (!place) fail("place: found '{}', expected cpu, sim, cuda or cuda:N", text);
  return *place;
}

}  // namespace halfstep
