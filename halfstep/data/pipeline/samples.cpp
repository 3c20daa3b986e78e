#include "halfstep/data/pipeline/samples.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/hash.h"
#include "halfstep/data/datasets/image_set.h"
#include "halfstep/data/datasets/split.h"
#include "halfstep/data/pipeline/errors.h"

namespace halfstep::data {
namespace {

Tensors rows_at(const Tensors& all, const std::vector<int64_t>& at) {
  Tensors rows;
  for (const auto& [name, tensor] : all) rows.emplace(name, data::rows_of(tensor, at));
  return rows;
}

std::vector<int64_t> chosen(const std::vector<int64_t>& indices, int64_t begin, int64_t count,
                            const std::vector<int64_t>* order) {
  std::vector<int64_t> rows;
  for (int64_t i = begin; i < begin + count; ++i)
    rows.push_back(indices[static_cast<size_t>(order == nullptr ? i : (*order)[static_cast<size_t>(i)])]);
  return rows;
}

/// [c, h, w] for an argument [n, c, h, w], or [n, h, w, c] with channels last. Empty for other arguments.
Dims picture_dims(const Dims& argument, bool channels_last) {
  if (argument.size() != 4) return {};
  return channels_last ? Dims{argument[3], argument[1], argument[2]} : Dims{argument[1], argument[2], argument[3]};
}

/// Whether a raw row of `found` extents holds the elements of a network sample of `expected` extents.
bool are_rows_of(const Dims& found, const Dims& expected) {
  const auto is_known = [](int64_t extent) { return extent != kUnknown; };
  return found != expected && !expected.empty() && std::ranges::all_of(expected, is_known) &&
         count_elements(found) == count_elements(expected);
}

/// u8 [n, 1, h, w] as i32 [n, h, w], moved like the images.
Tensor classes_of(const Tensor& masks, const Augmentation& augmentation) {
  Tensor pixels(DType::f32, masks.dims());
  std::ranges::copy(masks.data<uint8_t>(), pixels.data<float>().begin());
  if (augmentation.how.any())
    pixels = augmentation.how.apply(pixels, augmentation.seed, augmentation.step, Samples::kOutside);
  Tensor classes(DType::i32, {masks.dims()[0], masks.dims()[2], masks.dims()[3]});
  std::ranges::transform(pixels.data<float>(), classes.data<int32_t>().begin(),
                         [](float pixel) { return static_cast<int32_t>(pixel); });
  return classes;
}

}  // namespace

Tensors Samples::inputs(int64_t begin, int64_t count, const std::vector<int64_t>* order,
                        const Augmentation& augmentation) const {
  Tensors inputs = rows(begin, count, order, augmentation);
  for (const std::string& name : scalars) inputs.at(name) = inputs.at(name).reshaped({});
  return inputs;
}

Tensors Samples::rows(int64_t begin, int64_t count, const std::vector<int64_t>* order,
                      const Augmentation& augmentation) const {
  const std::vector<int64_t> at = chosen(indices, begin, count, order);
  Tensors rows = rows_at(data->inputs, at);
  if (!data->has_x()) return rows;
  Tensor x = data->batch(at, data->raw ? preprocess.frame : data::Frame());
  if (data->images) {
    const int64_t next = begin + count, more = std::min(count, size() - next);
    if (more > 0) data->images->read_ahead(chosen(indices, next, more, order), preprocess.frame);
  }
  if (!shape.empty()) x = x.reshaped({count, shape[0], shape[1], shape[2]});
  if (augmentation.how.any()) x = augmentation.how.apply(x, augmentation.seed, augmentation.step);
  rows.emplace(argument, data->raw ? preprocess.apply(std::move(x)) : std::move(x));
  return rows;
}

Dims Samples::sample_dims() const {
  return shape.empty() ? data->sample_dims(data->raw ? preprocess.frame : data::Frame()) : shape;
}

std::map<std::string, Dims> Samples::extents(int64_t count) const {
  std::map<std::string, Dims> extents;
  const auto add = [&](const std::string& name, Dims sample) {
    if (!scalars.contains(name)) sample.insert(sample.begin(), count);
    extents.emplace(name, std::move(sample));
  };
  for (const auto& [name, tensor] : data->inputs) add(name, {tensor.dims().begin() + 1, tensor.dims().end()});
  if (data->has_x()) add(argument, data->raw ? preprocess.sample_dims(sample_dims()) : sample_dims());
  return extents;
}

Tensor Samples::labels(int64_t begin, int64_t count, const std::vector<int64_t>* order) const {
  return data->batch_labels(chosen(indices, begin, count, order));
}

Frame Samples::mask_frame() const {
  Frame frame = preprocess.frame;
  frame.channels = 1;
  frame.nearest = true;
  return frame;
}

Tensors Samples::targets(int64_t begin, int64_t count, const std::vector<int64_t>* order,
                         const Augmentation& augmentation) const {
  const std::vector<int64_t> at = chosen(indices, begin, count, order);
  Tensors targets = rows_at(data->targets, at);
  if (data->has_labels()) targets.emplace("labels", data::rows_of(data->labels, at));
  if (data->masks) targets.emplace("target", classes_of(data->masks->batch(at, mask_frame()), augmentation));
  return targets;
}

std::map<std::string, Type> Samples::target_types(int64_t count) const {
  std::map<std::string, Type> types;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    Dims dims = tensor.dims();
    dims[0] = count;
    types.emplace(name, Type{tensor.dtype(), std::move(dims)});
  };
  for (const auto& [name, tensor] : data->targets) add(name, tensor);
  if (data->has_labels()) add("labels", data->labels);
  if (data->masks) {
    const Dims mask = data->masks->sample_dims(mask_frame());
    types.emplace("target", Type{DType::i32, {count, mask[1], mask[2]}});
  }
  return types;
}

TrainTest split(const data::Dataset& data) {
  data::Split parts = data::parts_of(data);
  TrainTest result{{&data, std::move(parts.train), {}, {}}, {&data, std::move(parts.test), {}, {}}, parts.tested};
  result.train.validation = std::move(parts.val);
  return result;
}

void TrainTest::feed(const Model& model) {
  const Value argument = model.graph.arguments().front();
  for (Samples* samples : {&train, &test}) {
    const data::Dataset& data = *samples->data;
    samples->argument = argument.name();
    samples->preprocess = preprocess_of(model);
    for (const Value taken : model.graph.arguments()) {
      if (taken.dims().empty()) samples->scalars.insert(taken.name());
    }
    const Dims wanted = picture_dims(argument.dims(), samples->preprocess.channels_last);
    if (data.images && !wanted.empty() && (wanted[0] == 1 || wanted[0] == 3))
      samples->preprocess.frame.channels = wanted[0];
    if (data.x.defined() && data.raw && data.x.dtype() == DType::f32 && are_rows_of(data.sample_dims(), wanted))
      samples->shape = wanted;
  }
}

ValidationSplit split_validation(const Samples& samples, int64_t at_once, uint64_t seed) {
  constexpr int64_t kShare = 10, kFew = 100, kFewShare = 4, kMost = 5000;
  constexpr uint64_t kStream = uint64_t{3} << 62;  // separate from the streams of shuffling (numbers of epochs) and
                                                   // augmentation
  if (!samples.validation.empty()) {
    ValidationSplit parts{samples, samples};
    parts.validation_split.indices = samples.validation;
    return parts;
  }
  const int64_t size = samples.size();
  const int64_t wanted = std::min(kMost, std::max(size / kShare, std::min(kFew, size / kFewShare)));
  const int64_t validation_split = std::max<int64_t>(1, wanted / at_once) * at_once;
  if (validation_split + at_once > size)
    fail(errors::too_few_samples_to_hold_out(samples.data->name, size, 2 * at_once));
  const auto order = Random(seed, kStream).permutation(size);
  std::vector<bool> is_validation(static_cast<size_t>(size));
  for (int64_t i = 0; i < validation_split; ++i)
    is_validation[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
  ValidationSplit parts{samples, samples};
  parts.train.indices.clear();
  parts.validation_split.indices.clear();
  for (size_t i = 0; i < is_validation.size(); ++i)
    (is_validation[i] ? parts.validation_split : parts.train).indices.push_back(samples.indices[i]);
  return parts;
}

std::string content_digest(const Samples& samples) {
  detail::Hash hash;
  std::vector<int64_t> indices = samples.indices;
  indices.insert(indices.end(), samples.validation.begin(), samples.validation.end());
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    if (!tensor.defined()) return;
    hash.update(name + ": " + to_string(tensor.type()) + "\n");
    const size_t each = tensor.bytes() / static_cast<size_t>(tensor.dims()[0]);
    for (const int64_t index : indices) hash.update({tensor.raw() + static_cast<size_t>(index) * each, each});
  };
  if (samples.data->images) {
    for (const int64_t index : indices) hash.update(samples.data->images->file(index));
    for (const int64_t index : indices) {
      if (samples.data->masks) hash.update(samples.data->masks->file(index));
    }
  }
  add(samples.argument, samples.data->x);
  for (const auto& [name, tensor] : samples.data->inputs) add(name, tensor);
  add("labels", samples.data->labels);
  for (const auto& [name, tensor] : samples.data->targets) add("target." + name, tensor);
  return hash.hex128();
}

Preprocess natural_scale(const Samples& train) {
  Preprocess preprocess;
  if (!train.data->raw) return preprocess;
  if (train.data->images) return {.scale = 1.0F / 255};
  constexpr int64_t kChunk = 1024;
  float largest = 0;
  for (int64_t begin = 0; begin < train.size(); begin += kChunk) {
    const Tensor chunk =
        train.data->batch(chosen(train.indices, begin, std::min(kChunk, train.size() - begin), nullptr));
    for (const float value : chunk.data<float>()) largest = std::max(largest, std::fabs(value));
  }
  if (largest > 0) preprocess.scale = 1.0F / largest;
  return preprocess;
}

bool have_answers(const Samples& samples, const Model& model) {
  const Value output = model.graph.outputs().front();
  const Dims dims = class_dims(output.dims());
  if (!samples.data->has_labels() || output.dtype() != DType::f32 || dims.size() < 2) return false;
  const std::span<const int64_t> positions(dims.begin() + 1, dims.end() - 1);
  const bool is_open = std::ranges::find(positions, kUnknown) != positions.end();
  return dims.size() == 2 || is_open || count_elements(positions) == samples.data->labels_each();
}

int64_t batch_of(const Model& model, int64_t wanted) {
  const std::vector<Value> arguments = model.graph.arguments();
  if (std::ranges::any_of(arguments, [](Value argument) { return argument.dims().empty(); })) return 1;
  const int64_t fixed = arguments.front().dims()[0];
  return fixed == kUnknown ? wanted : fixed;
}

int64_t judged_batch(const Model& model, int64_t wanted) {
  const auto ops = model.graph.all_ops();
  const bool decides =
      std::ranges::any_of(ops, [](Op op) { return op.info().flow == Flow::branch || op.info().flow == Flow::loop; });
  return batch_of(model, decides ? 1 : wanted);
}

int64_t evaluation_batch(const Model& model, const Samples& samples) {
  constexpr int64_t kMost = 128, kMostElements = int64_t{4} << 20;
  int64_t each = 1;
  for (const auto& [name, dims] : samples.extents(1)) each += std::max<int64_t>(0, count_elements(dims));
  return judged_batch(model, std::clamp<int64_t>(kMostElements / each, 1, kMost));
}

int64_t usable(const Model& model, int64_t samples) {
  const int64_t fixed = batch_of(model, 1);
  return samples / fixed * fixed;
}

Dims class_dims(Dims output) {
  while (output.size() > 2 && output.back() == 1) output.pop_back();
  return output;
}

}  // namespace halfstep::data
