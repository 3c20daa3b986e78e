#include "halfstep/data/pipeline/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/data/pipeline/errors.h"

namespace halfstep::data {
namespace {

/// The element for channel c of a list with one or all channels. `otherwise` if the list is empty.
float of_channel(const std::vector<float>& list, int64_t c, float otherwise) {
  if (list.empty()) return otherwise;
  return list[list.size() == 1 ? 0 : static_cast<size_t>(c)];
}

Tensor to_channels_last(const Tensor& batch) {
  const Dims& dims = batch.dims();
  const int64_t channels = dims[1], plane = dims[2] * dims[3];
  Tensor result(DType::f32, {dims[0], dims[2], dims[3], channels});
  const auto src = batch.data<float>();
  const auto dst = result.data<float>();
  for (size_t i = 0; i < dst.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t sample = at / (plane * channels), place = at / channels % plane, c = at % channels;
    dst[i] = src[static_cast<size_t>((sample * channels + c) * plane + place)];
  }
  return result;
}

void reverse_channels(Tensor& batch) {
  const Dims& dims = batch.dims();
  const int64_t channels = dims[1], plane = dims[2] * dims[3];
  float* sample = batch.data<float>().data();
  for (int64_t n = 0; n < dims[0]; ++n, sample += channels * plane) {
    for (int64_t c = 0; c < channels / 2; ++c)
      std::swap_ranges(sample + c * plane, sample + (c + 1) * plane, sample + (channels - 1 - c) * plane);
  }
}

constexpr size_t kShownText = 60;  ///< most characters of a text in a message

Preset parse_preset(const std::string& name) {
  constexpr auto kNames = choices_of(Preset());
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) fail(errors::unknown_name("preprocess", name, "imagenet, cifar10 or unit", ""));
  return static_cast<Preset>(found - kNames.begin());
}

/// Checked access to the members of a JSON object.
class Members {
 public:
  Members(const std::string& text, const std::string& where)
      : json_(nlohmann::json::parse(text, nullptr, false)), where_(where) {
    if (!json_.is_object()) fail(errors::preprocess_not_json(where, text.substr(0, kShownText)));
  }

  std::optional<std::vector<float>> numbers(const char* key) const {
    const auto* list = find(key);
    if (list == nullptr) return std::nullopt;
    if (!list->is_array()) fail(errors::preprocess_value(where_, key, "a list of numbers"));
    std::vector<float> values;
    for (const auto& value : *list) {
      if (!value.is_number()) fail(errors::preprocess_value(where_, key, "a list of numbers"));
      values.push_back(value.get<float>());
    }
    return values;
  }

  template <class T>
  std::optional<T> value(const char* key) const {
    const auto* found = find(key);
    if (found == nullptr) return std::nullopt;
    constexpr bool kIsFlag = std::is_same_v<T, bool>, kIsText = std::is_same_v<T, std::string>;
    constexpr bool kIsWhole = std::is_integral_v<T> && !kIsFlag;
    if (!(kIsFlag    ? found->is_boolean()
          : kIsText  ? found->is_string()
          : kIsWhole ? found->is_number_integer()
                     : found->is_number()))
      fail(errors::preprocess_value(where_, key,
                                    kIsFlag    ? "true or false"
                                    : kIsText  ? "a name"
                                    : kIsWhole ? "an integer"
                                               : "a number"));
    return found->template get<T>();
  }

  std::optional<Preset> preset(const char* key) const {
    const auto name = value<std::string>(key);
    return name ? std::optional(parse_preset(*name)) : std::nullopt;
  }

  std::optional<data::PictureSize> size(const char* key) const {
    const auto sides = numbers(key);
    if (!sides) return std::nullopt;
    if (sides->size() != 2) fail(errors::preprocess_value(where_, key, "[height, width]"));
    return data::PictureSize{static_cast<int64_t>((*sides)[0]), static_cast<int64_t>((*sides)[1])};
  }

 private:
  const nlohmann::json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  nlohmann::json json_;
  const std::string& where_;
};

Preprocess values_of(Preset preset) {
  Preprocess result{.scale = 1.0F / 255};
  if (preset == Preset::imagenet) {
    result.mean = {0.485F, 0.456F, 0.406F};
    result.deviation = {0.229F, 0.224F, 0.225F};
  } else if (preset == Preset::cifar10) {
    result.mean = {0.4914F, 0.4822F, 0.4465F};
    result.deviation = {0.2470F, 0.2435F, 0.2616F};
  }
  return result;
}

void check(const Preprocess& p, const std::string& where) {
  const auto finite = [](float v) { return std::isfinite(v); };
  if (!finite(p.scale) || p.scale == 0)
    fail(errors::preprocess_number(where, "scale", p.scale, "a number that is not 0"));
  if (const auto wrong = std::ranges::find_if_not(p.mean, finite); wrong != p.mean.end())
    fail(errors::preprocess_number(where, "mean", *wrong, "finite numbers"));
  const auto divides = [](float v) { return v > 0 && std::isfinite(v); };
  if (const auto wrong = std::ranges::find_if_not(p.deviation, divides); wrong != p.deviation.end())
    fail(errors::preprocess_number(where, "std", *wrong, "numbers above 0"));
  if (p.mean.size() > 1 && p.deviation.size() > 1 && p.mean.size() != p.deviation.size())
    fail(errors::preprocess_lengths(where, p.mean.size(), p.deviation.size()));
  p.frame.check(where);
}

}  // namespace

Dims Preprocess::sample_dims(const Dims& dims) const {
  return channels_last && dims.size() == 3 ? Dims{dims[1], dims[2], dims[0]} : dims;
}

Tensor Preprocess::apply(Tensor batch) const {
  const Dims dims = batch.dims();
  const int64_t channels = dims[1];
  for (const auto* list : {&mean, &deviation}) {
    if (list->size() > 1 && static_cast<int64_t>(list->size()) != channels)
      fail(errors::preprocess_channels(list == &mean ? "mean" : "std", list->size(), channels));
  }
  if (reverses_channels && dims.size() == 4) reverse_channels(batch);
  const std::span after(dims.begin() + 2, dims.end());
  const int64_t plane = count_elements(after);
  float* at = batch.data<float>().data();
  for (int64_t row = 0; row < dims[0] * channels; ++row, at += plane) {
    const float middle = of_channel(mean, row % channels, 0), width = of_channel(deviation, row % channels, 1);
    for (int64_t i = 0; i < plane; ++i) at[i] = (at[i] * scale - middle) / width;
  }
  return channels_last && dims.size() == 4 ? to_channels_last(batch) : batch;
}

Preprocess applied(const PreprocessOptions& options, const Preprocess& own) {
  const auto& [preset, scale, mean, deviation, bgr, channels_last, resize, crop, size, ignore_orientation] = options;
  Preprocess result = own;
  if (preset || scale || mean || deviation) {
    const Preprocess values = preset ? values_of(*preset) : Preprocess();
    result.scale = scale.value_or(values.scale);
    result.mean = mean.value_or(values.mean);
    result.deviation = deviation.value_or(values.deviation);
  }
  result.reverses_channels = bgr.value_or(own.reverses_channels);
  result.channels_last = channels_last.value_or(own.channels_last);
  if (resize || crop || size) {
    result.frame.resize = resize.value_or(0);
    result.frame.crop = crop.value_or(0);
    result.frame.size = size.value_or(data::PictureSize());
  }
  result.frame.ignores_orientation = ignore_orientation.value_or(own.frame.ignores_orientation);
  check(result, "preprocessing");
  return result;
}

PreprocessOptions parse_preprocess_options(const std::string& text, const std::string& where) {
  const Members members(text, where);
  return {.preset = members.preset("preset"),
          .scale = members.value<float>("scale"),
          .mean = members.numbers("mean"),
          .deviation = members.numbers("std"),
          .bgr = members.value<bool>("bgr"),
          .channels_last = members.value<bool>("channels_last"),
          .resize = members.value<int64_t>("resize"),
          .crop = members.value<int64_t>("crop"),
          .size = members.size("size"),
          .ignore_orientation = members.value<bool>("ignore_orientation")};
}

std::string to_text(const Preprocess& p) {
  nlohmann::ordered_json json;
  if (p.frame.size.height > 0) json["size"] = {p.frame.size.height, p.frame.size.width};
  if (p.frame.resize > 0) json["resize"] = p.frame.resize;
  if (p.frame.crop > 0) json["crop"] = p.frame.crop;
  if (p.frame.ignores_orientation) json["ignore_orientation"] = true;
  json["scale"] = p.scale;
  json["mean"] = p.mean;
  json["std"] = p.deviation;
  json["reverse_channels"] = p.reverses_channels;
  json["channels_last"] = p.channels_last;
  return json.dump();
}

void set_preprocess(Model& model, const Preprocess& preprocess) {
  check(preprocess, "preprocessing");
  const data::Frame& frame = preprocess.frame;
  model.metadata.preprocess = PreprocessRecord{
      .size = {frame.size.height, frame.size.width},
      .resize = frame.resize,
      .crop = frame.crop,
      .ignores_orientation = frame.ignores_orientation,
      .scale = preprocess.scale,
      .mean = preprocess.mean,
      .deviation = preprocess.deviation,
      .reverses_channels = preprocess.reverses_channels,
      .channels_last = preprocess.channels_last,
  };
}

void change_preprocess(Model& model, const PreprocessOptions& options) {
  const Preprocess own = preprocess_of(model), changed = applied(options, own);
  if (!(changed == own)) set_preprocess(model, changed);
}

std::optional<Preprocess> said_preprocess(const Model& model) {
  if (!model.metadata.preprocess) return std::nullopt;
  const PreprocessRecord& record = *model.metadata.preprocess;
  Preprocess said{record.scale, record.mean, record.deviation, record.reverses_channels, record.channels_last, {}};
  said.frame.size = {record.size.first, record.size.second};
  said.frame.resize = record.resize;
  said.frame.crop = record.crop;
  said.frame.ignores_orientation = record.ignores_orientation;
  check(said, fmt::format("network '{}': preprocessing", model.graph.name()));
  return said;
}

Preprocess preprocess_of(const Model& model) { return said_preprocess(model).value_or(Preprocess()); }

}  // namespace halfstep::data
