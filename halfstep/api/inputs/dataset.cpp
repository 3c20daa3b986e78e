#include "halfstep/api/inputs/dataset.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/data/datasets/image_set.h"
#include "halfstep/data/datasets/split.h"
#include "halfstep/formats/import/import.h"
#include "halfstep/train/calibrate/calibrated_lengths.h"
#include "halfstep/train/evaluate/metric_sums.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace halfstep::api {
namespace {

/// Throws if a named tensor of the samples, or their x, does not match `argument`.
void require_fit(const Graph& graph, const Value& argument, const Dims& found, const Dataset& data) {
  const Dims& expected = argument.dims();
  if (expected.empty() && !found.empty())
    fail(errors::samples_of_other_shape(data.name, argument.name(), to_string(found) + " for each sample",
                                        "one value for each sample", graph.name(), "pass a tensor [n]"));
  bool fits = expected.size() == found.size();
  for (size_t axis = 1; fits && axis < expected.size(); ++axis)
    fits = expected[axis] == kUnknown || expected[axis] == found[axis];
  if (!fits)
    fail(errors::samples_of_other_shape(data.name, argument.name(), to_string(found), to_string(expected), graph.name(),
                                        "pass a data set of matching shape (--data)"));
  if (const auto named = data.inputs.find(argument.name());
      named != data.inputs.end() && named->second.dtype() != argument.dtype())
    fail(errors::samples_of_other_type(
        data.name, argument.name(), name(named->second.dtype()), name(argument.dtype()), graph.name(),
        argument.dtype() == DType::f64 ? "data sets cannot contain f64; export the network with an f32 input"
                                       : fmt::format("save the array as {}", name(argument.dtype()))));
}

/// Throws if a batch of several samples would share one scalar input.
void require_single(const Graph& graph, const data::Samples& samples) {
  for (const Value argument : graph.arguments()) {
    if (samples.scalars.empty() || argument.dims().empty() || argument.dims()[0] == kUnknown || argument.dims()[0] == 1)
      continue;
    fail(errors::one_value_for_several_samples(samples.data->name, graph.name(), *samples.scalars.begin(),
                                               argument.dims()[0], argument.name()));
  }
}

/// Returns a remedy for picture sizes: "--resize 256 --crop 224 or --size 224x224".
std::string remedy_for(int64_t height, int64_t width) {
  constexpr int64_t kSmall = 64;
  if (height == kUnknown || width == kUnknown) return "set --size HxW, or --resize N --crop N";
  const std::string size = fmt::format("--size {}x{} (changes the aspect ratio)", height, width);
  if (height != width) return "give " + size;
  const int64_t resize = height <= kSmall ? height : height * 8 / 7;
  return fmt::format("set --resize {} --crop {} (short side, then center) or {}", resize, height, size);
}

/// Throws if a picture is smaller than the crop.
void require_crop(const Dataset& data, const data::Frame& frame) {
  for (int64_t i = 0; frame.crop > 0 && i < data.images->size(); ++i) {
    const data::PictureSize size = data.images->size_of(i, frame);
    if (size.height == frame.crop && size.width == frame.crop) continue;
    data::Frame whole = frame;
    whole.crop = 0;
    fail(
        errors::crop_exceeds_image(data.name, data.images->path(i), data.images->size_of(i, whole).text(), frame.crop));
  }
}

/// Throws if pictures have several sizes, or another size than the network requires.
void require_sizes(const Graph& graph, const data::Samples& samples) {
  const Dataset& data = *samples.data;
  const data::Frame& frame = samples.preprocess.frame;
  require_crop(data, frame);
  const Dims found = samples.sample_dims();
  const Dims& argument = graph.arguments().front().dims();
  if (argument.size() != 4) return;
  const size_t at = samples.preprocess.channels_last ? 1 : 2;
  const int64_t height = argument[at], width = argument[at + 1];
  const auto fits = [](int64_t extent, int64_t wanted) {
    return extent != kUnknown && (wanted == kUnknown || extent == wanted);
  };
  if (fits(found[1], height) && fits(found[2], width)) return;
  data::PictureSize least = data.images->size_of(0, frame), most = least;
  for (int64_t i = 1; i < data.images->size(); ++i) {
    const data::PictureSize size = data.images->size_of(i, frame);
    least = {std::min(least.height, size.height), std::min(least.width, size.width)};
    most = {std::max(most.height, size.height), std::max(most.width, size.width)};
  }
  const std::string sizes = least == most ? least.text() : fmt::format("{} to {}", least.text(), most.text());
  const std::string takes =
      height == kUnknown || width == kUnknown ? "one size" : data::PictureSize{height, width}.text();
  fail(errors::images_of_other_size(data.name, sizes + " pixels",
                                    fmt::format("{}, which network '{}' takes", takes, graph.name()),
                                    remedy_for(height, width)));
}

std::string names_of(const std::map<std::string, Dims>& extents) {
  return fmt::format("{}", fmt::join(std::views::keys(extents), ", "));
}

std::vector<std::string> inputs_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value argument : graph.arguments()) names.push_back(argument.name());
  return names;
}

/// Throws if the samples do not match the arguments.
void require_fit(const Model& model, const data::Samples& samples) {
  const Graph& graph = model.graph;
  const Dataset& data = *samples.data;
  if (data.images) require_sizes(graph, samples);
  require_single(graph, samples);
  const auto extents = samples.extents(kUnknown);
  for (const Value argument : graph.arguments()) {
    const auto found = extents.find(argument.name());
    if (found == extents.end())
      fail(errors::input_missing(data.name, argument.name(), to_string(argument.type()),
                                 fmt::format("network '{}'", graph.name()), names_of(extents)));
    require_fit(graph, argument, found->second, data);
  }
  for (const auto& [name, dims] : extents) {
    if (!graph.value(name))
      fail(errors::no_input_of_network(data.name, name, fmt::format("network '{}'", graph.name()),
                                       known_names(name, inputs_of(graph))));
  }
}

/// Throws for a label that exceeds the number of outputs of a classifier.
void require_outputs(const Model& model, const data::Samples& samples) {
  const Dataset& data = *samples.data;
  if (!data::have_answers(samples, model)) return;
  const int64_t classes = data::class_dims(model.graph.outputs().front().dims()).back();
  if (classes == kUnknown) return;
  const auto labels = data.labels.data<int32_t>();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] >= classes)
      fail(errors::label_above_classes(data.name, i, labels[i], classes - 1, model.graph.name(), classes));
  }
}

void require_every_class(const Dataset& data) {
  const int64_t fewest =
      data.split ? 1 : 3;  // a stratified split gives a fifth to the test split, which rounds to none of two samples
  std::vector<int64_t> samples(data.classes.size());
  for (const int32_t label : data.labels.data<int32_t>()) ++samples[static_cast<size_t>(label)];
  for (size_t label = 0; label < samples.size(); ++label) {
    if (samples[label] >= fewest) continue;
    fail(errors::class_with_few_samples(data.name, data.classes.back(), samples[label], data.classes[label], fewest));
  }
}

}  // namespace

Dataset load_data(const std::string& path, int64_t classes, const DataOptions& options) {
  limits::kSamples.require("samples", options.samples);
  return path == kDigits ? data::digits(classes, options) : data::load_dataset(path, classes, options);
}

Dataset make_data(const Tensors& tensors, const std::string& name, const DataOptions& options) {
  limits::kSamples.require("samples", options.samples);
  Dataset data = data::dataset_of(tensors, name);
  data.name = name;
  data.form = "tensors";
  data::choose(data, options);
  return data;
}

int64_t classes_of(const Model& model) {
  const Dims& logits = model.graph.outputs().front().dims();
  return logits.size() == 2 && logits[1] != kUnknown ? logits[1] : data::kMaxClasses;
}

LoadedPair load_both(const std::filesystem::path& network, const std::string& data, const DataOptions& options,
                     const data::PreprocessOptions& preprocess) {
  LoadedPair pair;
  if (formats::is_foreign(network)) {
    pair.data = load_data(data, data::kMaxClasses, options);
    pair.network = load(network, pair.data, preprocess);
  } else {
    pair.network = load(network);
    pair.data = load_data(data, classes_of(pair.network), options);
  }
  return pair;
}

data::TrainTest parts_for(const Model& model, const Dataset& data) {
  if (model.graph.arguments().empty()) fail(errors::network_without_input(model.graph.name()));
  data::TrainTest all{{&data, {}, {}, {}}, {&data, {}, {}, {}}};
  all.feed(model);
  require_fit(model, all.train);
  require_outputs(model, all.train);
  data::TrainTest parts = data::split(data);
  parts.feed(model);
  return parts;
}

namespace {

/// Adds a note if raw values are as large as pixels and no preprocessing scales them for training.
void add_range_note(const Model& model, const Dataset& data, std::vector<std::string>& notes) {
  constexpr size_t kLooked = 64;
  constexpr float kLarge = 10;
  if (!data.raw || !data.has_x() || !data::preprocess_of(model).keeps_values()) return;
  data::TrainTest parts = data::split(data);
  parts.feed(model);
  parts.train.indices.resize(std::min(kLooked, parts.train.indices.size()));
  const Tensor x = parts.train.inputs(0, parts.train.size()).at(parts.train.argument);
  const auto [least, most] = std::ranges::minmax(x.data<float>());
  if (std::max(-least, most) <= kLarge) return;
  notes.push_back(
      fmt::format("{}: raw values from {} to {} go to network '{}' unchanged; if it was trained on other values, set "
                  "--preprocess imagenet, cifar10 or unit, or --scale, --mean and --std",
                  data.name, least, most, model.graph.name()));
}

}  // namespace

std::vector<std::string> notes_on(const Model& model, const Dataset& data) {
  constexpr size_t kShown = 4;
  std::vector<std::string> notes;
  if (!model.metadata.closed_extents.empty()) notes.push_back(model.metadata.closed_extents);
  if (auto note = note_on_quantizers(model)) notes.push_back(std::move(*note));
  add_range_note(model, data, notes);
  data::TrainTest parts = data::split(data);
  parts.feed(model);
  if (auto note = train::beyond_calibrated(model, parts.test.extents(1))) notes.push_back(std::move(*note));
  const auto& skipped = data.skipped();
  if (!skipped.empty())
    notes.push_back(fmt::format("{}: {} of {} images were skipped: {}{}", data.name, skipped.size(),
                                static_cast<size_t>(data.size()) + skipped.size(),
                                fmt::join(std::span(skipped).first(std::min(kShown, skipped.size())), ", "),
                                skipped.size() > kShown ? ", ..." : ""));
  return notes;
}

Model create_network(const std::string& architecture, const Dataset& data, uint64_t seed,
                     const data::PreprocessOptions& preprocess) {
  if (!data.has_labels()) fail(errors::new_network_without_labels(data.name));
  if (!data.has_x()) fail(errors::new_network_with_named_inputs(data.name));
  require_every_class(data);
  const data::Preprocess own = data::applied(preprocess, data::natural_scale(data::split(data).train));
  const Dims sample = data.sample_dims(own.frame);
  if (std::ranges::find(sample, kUnknown) != sample.end())
    fail(errors::images_of_other_size(data.name, "several sizes", "one size", remedy_for(kUnknown, kUnknown)));
  Model model = train::create_network(architecture, sample, static_cast<int64_t>(data.classes.size()), seed);
  data::set_preprocess(model, own);
  return model;
}

}  // namespace halfstep::api
