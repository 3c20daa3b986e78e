#include "halfstep/train/evaluate/batch_memory.h"

#include <algorithm>

namespace halfstep::train {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 29;

/// Bytes of all results of operations with known extents.
int64_t bytes_of_values(const Graph& graph) {
  int64_t bytes = 0;
  for (const Op op : graph.ops()) {
    for (const Value result : op.results()) {
      if (result.type().is_static())
        bytes += count_elements(result.dims()) * static_cast<int64_t>(size_of(result.dtype()));
    }
  }
  return bytes;
}

}  // namespace

int64_t samples_in_memory(const Model& model, const data::Samples& samples, int64_t most) {
  const int64_t least = data::judged_batch(model, 1);
  if (samples.size() < least) return most;
  std::map<std::string, Dims> extents;
  for (const auto& [name, tensor] : samples.inputs(0, least)) extents.emplace(name, tensor.dims());
  const int64_t bytes = std::max<int64_t>(1, bytes_of_values(specialize(model, extents).graph) / least);
  return std::clamp<int64_t>(kMostBytes / bytes, 1, most);
}

int64_t fetching_batch(const Model& model, const data::Samples& samples, int64_t most) {
  return data::judged_batch(model, samples_in_memory(model, samples, most));
}

}  // namespace halfstep::train
