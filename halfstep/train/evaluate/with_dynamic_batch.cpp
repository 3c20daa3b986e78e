#include "halfstep/train/evaluate/with_dynamic_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "halfstep/core/base/status.h"
#include "halfstep/passes/graph/dynamic_batch.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::train {
namespace {

constexpr int64_t kBatches = 3;

/// Whether samples [begin, begin + their count) of `all` equal `some`, bit for bit, along the sample axis.
bool same_samples(const Tensor& all, int64_t begin, const Tensor& some) {
  if (all.dims().size() != some.dims().size() || all.dtype() != some.dtype()) return false;
  size_t axis = 0;
  while (axis < all.dims().size() && all.dims()[axis] == some.dims()[axis]) ++axis;
  if (axis == all.dims().size()) return false;
  const int64_t outer = count_elements(std::span(all.dims()).first(axis));
  const size_t of_all = all.bytes() / static_cast<size_t>(std::max<int64_t>(1, outer));
  const size_t of_some = some.bytes() / static_cast<size_t>(std::max<int64_t>(1, outer));
  if (of_some * static_cast<size_t>(kBatches) != of_all) return false;
  for (size_t i = 0; i < static_cast<size_t>(outer); ++i) {
    if (std::memcmp(all.raw() + i * of_all + static_cast<size_t>(begin) * of_some, some.raw() + i * of_some, of_some) !=
        0)
      return false;
  }
  return true;
}

bool gives_the_same(const Model& opened, const Model& model, const Tensors& inputs, ThreadPool& pool) {
  BatchRunner together(evaluation_form(opened), {}, pool), apart(evaluation_form(model), {}, pool);
  const Tensors all = together.run(inputs);
  const int64_t batch = data::batch_of(model, 1);
  for (int64_t i = 0; i < kBatches; ++i) {
    Tensors some;
    for (const auto& [name, tensor] : inputs) some.emplace(name, tensor.rows(i * batch, (i + 1) * batch));
    for (const auto& [name, tensor] : apart.run(some)) {
      if (!same_samples(all.at(name), i, tensor)) return false;
    }
  }
  return true;
}

}  // namespace

Tensors inputs_of_batches(const Model& model, const data::Samples& samples) {
  data::Samples some = samples;
  const int64_t count = kBatches * data::batch_of(model, 1);
  some.indices.clear();
  for (int64_t i = 0; i < count; ++i) some.indices.push_back(samples.indices[static_cast<size_t>(i % samples.size())]);
  return some.inputs(0, count);
}

std::optional<std::string> fixed_batch_note(const Model& model) {
  if (passes::has_dynamic_batch(model)) return std::nullopt;
  return fmt::format(
      "network '{}' takes {} samples at once, and its operators prevent another batch size: training, repair and "
      "analysis use this batch size; export it with a dynamic batch",
      model.graph.name(), data::batch_of(model, 1));
}

Model with_dynamic_batch(const Model& model, const Tensors& inputs, ThreadPool& pool) {
  const std::optional<Model> opened = passes::dynamic_batch(model);
  if (!opened) return model;
  try {
    return gives_the_same(*opened, model, inputs, pool) ? *opened : model;
  } catch (const Error&) {
    return model;  // running it later reports the error
  }
}

Model with_dynamic_batch(const Model& model, const data::Samples& samples, ThreadPool& pool) {
  if (passes::has_dynamic_batch(model) || samples.size() == 0) return model;
  return with_dynamic_batch(model, inputs_of_batches(model, samples), pool);
}

}  // namespace halfstep::train
