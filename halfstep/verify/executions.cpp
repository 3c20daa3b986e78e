#include "halfstep/verify/executions.h"

#include <algorithm>

#include "halfstep/compile/compile.h"
#include "halfstep/verify/programs.h"

namespace halfstep::verify {
namespace {

size_t bytes_of(const Tensors& tensors) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += tensor.bytes();
  return bytes;
}

}  // namespace

Executions executions_of(const Model& model, const BatchSource& source, int64_t samples, int64_t batch,
                         size_t most_bytes, ThreadPool& pool) {
  Executions found;
  size_t bytes = 0;
  int64_t begin = 0;
  CompileOptions options;
  options.optimize = false;
  options.watch_regions = [&](const std::string& op, size_t region, int64_t iteration, Tensors arguments) {
    bytes += bytes_of(arguments);
    if (bytes > most_bytes)
      ++found.left_out;
    else
      found.by_region[{op, region}].push_back({begin, iteration, std::move(arguments)});
  };
  std::map<std::vector<Dims>, runtime::Program> programs;
  for (; begin < samples; begin += batch) {
    const Tensors inputs = source(begin, std::min(batch, samples - begin));
    const auto extents = extents_of(inputs);
    if (!programs.contains(extents)) programs.emplace(extents, compile(sized_for(model, inputs), options));
    programs.at(extents).run(inputs, pool);
  }
  return found;
}

}  // namespace halfstep::verify
