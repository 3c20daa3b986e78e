// Data sets of named tensors: npz, safetensors, and tensors from Python.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "halfstep/core/base/element_values.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

Tensor to_labels(const Tensor& raw, int64_t classes, const std::string& where) {
  const bool is_whole = raw.dtype() == DType::i32 || raw.dtype() == DType::i64 || raw.dtype() == DType::u8;
  if (!is_whole || raw.dims().empty()) fail(errors::labels_type(where, to_string(raw.type())));
  const bool is_column = raw.dims().size() == 2 && raw.dims()[1] == 1;
  Tensor labels(DType::i32, is_column ? Dims{raw.dims()[0]} : raw.dims());
  for (size_t i = 0; i < static_cast<size_t>(raw.size()); ++i) {
    const int64_t label = raw.dtype() == DType::i32   ? raw.data<int32_t>()[i]
                          : raw.dtype() == DType::i64 ? raw.data<int64_t>()[i]
                                                      : raw.data<uint8_t>()[i];
    if (label < 0 || label >= classes) fail(errors::label_out_of_range(where, i, label, classes - 1));
    labels.data<int32_t>()[i] = static_cast<int32_t>(label);
  }
  return labels;
}

void require_finite(const Tensor& tensor, const std::string& name, const std::string& where) {
  if (tensor.dtype() != DType::f32) return;
  const auto values = tensor.data<float>();
  const auto wrong = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
  if (wrong != values.end())
    fail(errors::not_finite(where, name, *wrong, (wrong - values.begin()) * tensor.dims()[0] / tensor.size(),
                            *wrong < 0 ? "in a mask, replace it with the lowest float32, -3.4028235e38" : ""));
}

/// Throws if the first axes, which count samples, differ.
void require_equal_counts(const Dataset& data, const std::string& where) {
  if (data.size() == 0) fail(errors::no_samples(where, "at least one"));
  for (const auto& [name, tensor] : data.inputs) {
    if (tensor.dims()[0] != data.size())
      fail(errors::sample_counts_differ(where, tensor.dims()[0], name, data.size(), data.inputs.begin()->first));
  }
  if (data.has_labels() && data.labels.dims()[0] != data.size())
    fail(errors::labels_and_samples_differ(where, data.labels.dims()[0], data.size()));
  for (const auto& [name, tensor] : data.targets) {
    if (tensor.dims()[0] != data.size())
      fail(errors::sample_counts_differ(where, tensor.dims()[0], name, data.size(), data.inputs.begin()->first));
  }
}

/// Converts u8 [n, h, w] and [n, h, w, channels] to [n, c, h, w]. Other tensors stay unchanged. The last axis counts
/// channels if it has at most four elements and the second axis more.
Tensor channels_first(const Tensor& x) {
  const Dims& dims = x.dims();
  if (x.dtype() != DType::u8) return x;
  if (dims.size() == 3) return x.reshaped({dims[0], 1, dims[1], dims[2]});
  constexpr int64_t kMostChannels = 4;
  if (dims.size() != 4 || dims[3] > kMostChannels || dims[1] <= kMostChannels) return x;
  const int64_t pixels = dims[1] * dims[2], channels = dims[3];
  Tensor result = Tensor::uninitialized(DType::u8, {dims[0], channels, dims[1], dims[2]});
  const uint8_t* from = x.data<uint8_t>().data();
  uint8_t* to = result.data<uint8_t>().data();
  for (int64_t n = 0; n < dims[0]; ++n, from += pixels * channels) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < pixels; ++i) *to++ = from[i * channels + c];
    }
  }
  return result;
}

/// "labels". Beside x also "label" and "y", unless they look like samples. Returns the end if there are none.
auto find_labels(const Tensors& tensors) {
  for (const char* name : {"labels", "label", "y"}) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) continue;
    const bool beside_x = tensors.contains("x") && found->second.dims().size() <= 2;
    if (found->first == "labels" || beside_x) return found;
  }
  return tensors.end();
}

constexpr std::string_view kTarget = "target", kTargetPrefix = "target.";

/// Whether a tensor holds targets of a loss, or lengths beside them.
bool is_target(const std::string& name, const Tensors& tensors) {
  if (name == kTarget || name.starts_with(kTargetPrefix)) return true;
  return (name == "input_lengths" || name == "target_lengths") && tensors.contains(std::string(kTarget));
}

/// Floats as f32, integers as i32.
Tensor to_target(const Tensor& raw, const std::string& name, const std::string& where) {
  if (is_float(raw.dtype())) {
    Tensor target = narrowed(raw);
    if (target.dtype() != DType::f32) fail(errors::target_type(where, name, to_string(raw.type())));
    require_finite(target, name, where);
    return target;
  }
  if (bits_of(raw.dtype()) < 8 || raw.dtype() == DType::boolean)
    fail(errors::target_type(where, name, to_string(raw.type())));
  Tensor target(DType::i32, raw.dims());
  for (int64_t i = 0; i < raw.size(); ++i) {
    const double value = element(raw, i);
    if (value < -2147483648.0 || value > 2147483647.0)
      fail(errors::target_out_of_range(where, name, fmt::format("{:.0f}", value)));
    target.data<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(value);
  }
  return target;
}

bool is_sample_tensor(const Tensor& x) {
  return (x.dtype() == DType::f32 || x.dtype() == DType::u8) && x.dims().size() >= 2;
}

constexpr std::string_view kTrain = "_train", kTest = "_test";

/// The names without suffix if all tensors come in pairs NAME_train and NAME_test, as Keras names x and y. Else empty.
std::vector<std::string> names_of_pairs(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with(kTrain)) names.push_back(name.substr(0, name.size() - kTrain.size()));
  }
  const auto has_test = [&](const std::string& name) { return tensors.contains(name + std::string(kTest)); };
  if (2 * names.size() != tensors.size() || !std::ranges::all_of(names, has_test)) return {};
  return names;
}

/// Concatenates both parts of each tensor, and records the start of the second part.
Dataset from_pairs(const Tensors& tensors, const std::vector<std::string>& names, const std::string& where,
                   int64_t classes) {
  const auto same_samples = [](const Tensor& a, const Tensor& b) {
    return a.dtype() == b.dtype() && !a.dims().empty() && !b.dims().empty() &&
           std::ranges::equal(std::span(a.dims()).subspan(1), std::span(b.dims()).subspan(1));
  };
  Tensors both;
  int64_t begin = 0;  // start of the test part
  for (const std::string& name : names) {
    const Tensor &train = tensors.at(name + std::string(kTrain)), &test = tensors.at(name + std::string(kTest));
    if (!same_samples(train, test))
      fail(errors::parts_differ(where, name, to_string(train.type()), to_string(test.type())));
    const int64_t here = train.dims()[0];
    if (!both.empty() && here != begin)
      fail(errors::sample_counts_differ(where, here, name + "_train", begin, names.front() + "_train"));
    begin = here;
    both.emplace(name, joined(train, test));
  }
  Dataset data = dataset_of(both, where, classes);
  Split split;
  split.tested = (data.has_x() ? "x" : data.inputs.begin()->first) + std::string(kTest);
  split.train.resize(static_cast<size_t>(begin));
  split.test.resize(static_cast<size_t>(data.size() - begin));
  std::iota(split.train.begin(), split.train.end(), int64_t{0});
  std::iota(split.test.begin(), split.test.end(), begin);
  data.split = std::move(split);
  return data;
}

}  // namespace

Dataset dataset_of(const Tensors& tensors, const std::string& where, int64_t classes) {
  const std::vector<std::string> pairs = names_of_pairs(tensors);
  if (!pairs.empty()) return from_pairs(tensors, pairs, where, classes);
  Dataset data;
  const auto labels = find_labels(tensors);
  if (labels != tensors.end()) {
    data.labels = to_labels(labels->second, classes, where);
    data.classes = number_names(data.labels, classes);
  }
  for (auto at = tensors.begin(); at != tensors.end(); ++at) {
    const auto& [name, tensor] = *at;
    if (at == labels) continue;
    if (tensor.dims().empty()) fail(errors::samples_without_axis(where, name, to_string(tensor.type())));
    if (is_target(name, tensors)) {
      const std::string own = name.starts_with(kTargetPrefix) ? name.substr(kTargetPrefix.size()) : name;
      data.targets[own] = to_target(tensor, name, where);
      continue;
    }
    data.inputs[name] = narrowed(tensor);
    require_finite(data.inputs[name], name, where);
  }
  if (data.inputs.empty()) fail(errors::no_samples(where, "'x' and 'labels' or the inputs of a network"));
  require_equal_counts(data, where);
  const Tensor first = data.inputs.begin()->second;
  if (data.inputs.size() > 1 || !data.inputs.contains("x")) return data;
  if (!is_sample_tensor(first)) return data;
  data.x = channels_first(first);
  data.raw = first.dtype() == DType::u8;
  data.inputs.clear();
  return data;
}

}  // namespace halfstep::data
