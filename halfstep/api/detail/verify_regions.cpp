#include "halfstep/api/detail/verify_regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "halfstep/api/detail/network_source.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/verify.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/canonical/open_source.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/metric_sums.h"
#include "halfstep/verify/equivalence/executions.h"
#include "halfstep/verify/equivalence/recording.h"

namespace halfstep::api {
namespace {

/// Limit of recorded region inputs in memory at a time.
constexpr size_t kMostRecordedBytes = size_t{256} << 20U;

/// Returns a region of one of the networks, found by the name of the operation that holds it.
Model region_of(const Model& model, const std::string& holder, size_t region, const std::string& path) {
  const Op op = model.graph.op(holder);
  if (!op || region >= op.regions().size()) fail(errors::no_such_region(path, model.graph.name()));
  return region_model(model, *op.regions()[region], holder);
}

/// Returns the path of a region holder, the holder included: "while 'loop': if 'branch'".
std::string path_with(Op holder) { return path_to(holder) + fmt::format("{} '{}'", holder.info().name, holder.name()); }

class RegionCheck {
 public:
  /// `opened` is `prepared` with an open source, which has the regions that preparation makes of recurrent layers.
  /// `recording` has the values of the backend, or is null.
  RegionCheck(const Model& prepared, const Model& opened, const Model& integer, Op holder, size_t region,
              const std::vector<verify::Execution>& executions, verify::Recording* recording)
      : path_(path_with(holder)),
        prepared_(region_of(prepared, holder.name(), region, path_)),
        integer_(region_of(integer, holder.name(), region, path_)),
        executions_(executions),
        recording_(recording) {
    if (!prepared.source) return;
    const Model& source = (prepared.source->network.graph.op(holder.name()) ? prepared : opened).source->network;
    prepared_.source = std::make_shared<const Source>(Source{region_of(source, holder.name(), region, path_), {}});
  }

  void run(verify::VerifyReport& report, verify::SemanticOptions options, ThreadPool& pool) const {
    const auto source = [&](int64_t begin, int64_t) { return at(begin).arguments; };
    verify::ExecutionPaths paths = paths_of(prepared_, integer_);
    paths.whole = options.whole = true;
    if (recording_ != nullptr)
      paths.recorded = [&](int64_t execution, const std::string& layer, const Tensor& codes) {
        return recording_->next(at(execution).sample, layer, codes);
      };
    const int64_t count = std::ssize(executions_);
    verify::VerifyReport found = verify::compare_paths(paths, source, count, 1, pool);
    if (prepared_.source) {
      const Model opened = passes::with_open_source(prepared_);
      add_semantics(found, verify::check_semantics(opened, integer_, source, count, options, pool));
      report.floats->add(check_floats(prepared_, at(0).arguments, pool));
    }
    for (verify::LayerReport& layer : found.layers) {
      layer.layer.path = path_;
      if (layer.activation) place(*layer.activation);
      if (layer.engine) place(*layer.engine);
      if (recording_ != nullptr) compare_counts(layer);
      if (layer.semantics && layer.semantics->first) place(*layer.semantics->first);
    }
    std::ranges::move(found.layers, std::back_inserter(report.layers));
  }

 private:
  /// Counts codes that only the program or only the backend produced as differences.
  void compare_counts(verify::LayerReport& layer) const {
    const auto found = recording_->first_mismatch(layer.layer.name);
    if (!found) return;
    const auto& [sample, counts] = *found;
    layer.engine_differing += std::abs(counts.program - counts.engine);
    if (layer.engine) return;
    layer.engine = verify::Difference{"count", 0, 0, sample, {}, counts.program, counts.engine, path_};
  }

  const verify::Execution& at(int64_t number) const { return executions_[static_cast<size_t>(number)]; }

  /// Replaces the number of an execution by sample, path and iterations, which users can find.
  template <class Fault>
  void place(Fault& fault) const {
    const verify::Execution& execution = at(fault.sample);
    fault.sample = execution.sample;
    fault.path = execution.path;
    if constexpr (requires { fault.turns; }) fault.turns = execution.turns;
  }

  std::string path_;
  Model prepared_, integer_;
  const std::vector<verify::Execution>& executions_;
  verify::Recording* recording_;
};

/// Numbers the values of a block. Values in regions come before the results of the operation that holds them.
void number(const Block& block, std::map<std::string, size_t>& numbers) {
  for (const Op op : block.ops()) {
    for (const auto& region : op.regions()) number(*region, numbers);
    for (const Value result : op.results()) numbers.emplace(result.name(), numbers.size());
  }
}

void put_in_order(std::vector<verify::LayerReport>& layers, const Graph& integer) {
  std::map<std::string, size_t> numbers;
  number(integer.body(), numbers);
  std::ranges::stable_sort(layers, {}, [&](const verify::LayerReport& one) { return numbers.at(one.layer.name); });
}

}  // namespace

void verify_regions(verify::VerifyReport& report, const Model& prepared, const verify::ExecutionPaths& paths,
                    const data::Samples& samples, const verify::SemanticOptions& options, ThreadPool& pool,
                    const ProgressCallback& progress) {
  std::vector<Op> holders = prepared.graph.all_ops();
  std::erase_if(holders, [](Op op) { return op.regions().empty(); });
  if (holders.empty()) return;
  const auto source = [&](int64_t begin, int64_t count) { return samples.inputs(begin, count); };
  const int64_t batch = std::min(data::judged_batch(prepared, 64), paths.most_samples);
  const auto executions =
      verify::executions_of(train::evaluation_form(prepared), source, data::usable(prepared, samples.size()), batch,
                            kMostRecordedBytes, pool);
  verify::Recording recording;
  for (int64_t begin = 0; paths.inside && begin < executions.end; begin += batch)
    recording.add(begin, paths.inside(source(begin, std::min(batch, executions.end - begin))));
  const Model opened = passes::with_open_source(prepared);
  if (executions.left_out > 0)
    report.notes.push_back(
        fmt::format("branches and loops: {} executions were compared only by their results", executions.left_out));
  for (size_t i = 0; i < holders.size(); ++i) {
    for (size_t region = 0; region < holders[i].regions().size(); ++region) {
      const auto quantizers = holders[i].regions()[region]->all<ops::FakeQuantize>();
      const auto found = executions.by_region.find({holders[i].name(), region});
      if (quantizers.empty()) continue;
      if (found == executions.by_region.end()) {
        report.notes.push_back(fmt::format("{}: no sample enters its region {}, so it was not compared",
                                           path_with(holders[i]), holders[i].info().regions[region]));
        continue;
      }
      RegionCheck(prepared, opened, paths.integer, holders[i], region, found->second,
                  paths.inside ? &recording : nullptr)
          .run(report, options, pool);
    }
    if (progress) progress({"branches and loops", static_cast<double>(i + 1), static_cast<double>(holders.size()), ""});
  }
  put_in_order(report.layers, paths.integer.graph);
}

}  // namespace halfstep::api
