#include "halfstep/verify/equivalence/executions.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/ir/flow.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/verify/equivalence/compared_programs.h"

namespace halfstep::verify {
namespace {

size_t bytes_of(const Tensors& tensors) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += tensor.bytes();
  return bytes;
}

/// Tracks the position of a run: the operations around a region, and their iterations.
class RegionPath {
 public:
  explicit RegionPath(const Graph& graph) : graph_(graph) {}

  /// An execution of a region of `op`, without its arguments.
  Execution enter(int64_t sample, const std::string& op, int64_t iteration) {
    iterations_[op] = iteration;
    Execution entered{sample, "", {}, {}};
    for (Op holder = graph_.op(op); holder; holder = holder.node()->block->parent()) {
      const int64_t turn = iterations_.at(holder.name());
      entered.turns.insert(entered.turns.begin(), turn);
      entered.path = fmt::format("{} '{}'{}{}{}", holder.info().name, holder.name(),
                                 turn < 0 ? "" : fmt::format(", iteration {}", turn), entered.path.empty() ? "" : ": ",
                                 entered.path);
    }
    return entered;
  }

 private:
  const Graph& graph_;
  std::map<std::string, int64_t> iterations_;  ///< by operation, -1 for a branch
};

}  // namespace

Executions executions_of(const Model& model, const BatchSource& source, int64_t samples, int64_t batch,
                         size_t most_bytes, ThreadPool& pool) {
  Executions found;
  size_t bytes = 0;
  int64_t begin = 0;
  RegionPath path(model.graph);
  CompileOptions options;
  options.optimize = false;
  options.watch_regions = [&](const std::string& op, size_t region, int64_t iteration, Tensors arguments) {
    Execution entered = path.enter(begin, op, iteration);
    bytes += bytes_of(arguments);
    entered.arguments = std::move(arguments);
    if (bytes > most_bytes)
      ++found.left_out;
    else
      found.by_region[{op, region}].push_back(std::move(entered));
  };
  std::map<std::vector<Dims>, runtime::Program> programs;
  for (; begin < samples; begin += batch) {
    const Tensors inputs = source(begin, std::min(batch, samples - begin));
    const auto extents = extents_of(inputs);
    if (!programs.contains(extents)) programs.emplace(extents, compile(sized_for(model, inputs), options));
    programs.at(extents).run(inputs, pool);
    if (found.left_out == 0) found.end = std::min(begin + batch, samples);
  }
  return found;
}

}  // namespace halfstep::verify
