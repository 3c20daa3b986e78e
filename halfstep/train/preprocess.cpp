#include "halfstep/train/preprocess.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "halfstep/base/status.h"

namespace halfstep::train {
namespace {

constexpr const char* kNote = "input.preprocess";

/// The number of channel c, of a list of one or of all; `otherwise` for an empty one.
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

std::vector<float> numbers(const nlohmann::json& json, const char* key, const std::string& where) {
  std::vector<float> list;
  if (!json.contains(key)) return list;
  if (!json[key].is_array()) fail("{}: {}: expected a list of numbers", where, key);
  for (const auto& value : json[key]) {
    if (!value.is_number()) fail("{}: {}: expected a list of numbers", where, key);
    list.push_back(value.get<float>());
  }
  return list;
}

bool flag(const nlohmann::json& json, const char* key, const std::string& where) {
  if (!json.contains(key)) return false;
  if (!json[key].is_boolean()) fail("{}: {}: expected true or false", where, key);
  return json[key].get<bool>();
}

void check(const Preprocess& p, const std::string& where) {
  const auto finite = [](float v) { return std::isfinite(v); };
  if (!finite(p.scale) || p.scale == 0) fail("{}: found scale {}, expected a number that is not 0", where, p.scale);
  if (!std::ranges::all_of(p.mean, finite)) fail("{}: mean: expected finite numbers", where);
  if (!std::ranges::all_of(p.deviation, [](float v) { return v > 0 && std::isfinite(v); }))
    fail("{}: std: expected numbers above 0", where);
  if (p.mean.size() > 1 && p.deviation.size() > 1 && p.mean.size() != p.deviation.size())
    fail("{}: found {} numbers for mean and {} for std", where, p.mean.size(), p.deviation.size());
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
      fail("preprocessing has numbers for {} channels, samples have {}", list->size(), channels);
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

std::string to_text(const Preprocess& p) {
  return nlohmann::ordered_json({{"scale", p.scale},
                                 {"mean", p.mean},
                                 {"std", p.deviation},
                                 {"reverse_channels", p.reverses_channels},
                                 {"channels_last", p.channels_last}})
      .dump();
}

Preprocess parse_preprocess(const std::string& text, const std::string& where) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) fail("{}: found no JSON object", where);
  Preprocess p;
  if (json.contains("scale")) {
    if (!json["scale"].is_number()) fail("{}: scale: expected a number", where);
    p.scale = json["scale"].get<float>();
  }
  p.mean = numbers(json, "mean", where);
  p.deviation = numbers(json, "std", where);
  p.reverses_channels = flag(json, "reverse_channels", where);
  p.channels_last = flag(json, "channels_last", where);
  check(p, where);
  return p;
}

void set_preprocess(Model& model, const Preprocess& preprocess) {
  check(preprocess, "preprocessing");
  model.notes[kNote] = to_text(preprocess);
}

Preprocess preprocess_of(const Model& model) {
  const auto note = model.notes.find(kNote);
  return note == model.notes.end() ? Preprocess() : parse_preprocess(note->second, "note 'input.preprocess'");
}

}  // namespace halfstep::train
