#include "halfstep/api/verify_regions.h"

#include <algorithm>
#include <iterator>

#include "halfstep/api/source.h"
#include "halfstep/api/verify.h"
#include "halfstep/ir/flow.h"
#include "halfstep/ir/ops.h"
#include "halfstep/ir/region.h"
#include "halfstep/passes/open_attention.h"
#include "halfstep/train/executable.h"
#include "halfstep/train/tally.h"
#include "halfstep/verify/executions.h"

namespace halfstep::api {
namespace {

/// Of what regions were given, at once in memory.
constexpr size_t kMostBytes = size_t{256} << 20U;

/// A region of one of the networks, found by the name of the operation that holds it.
Model region_of(const Model& model, const std::string& holder, size_t region, const std::string& path) {
  const Op op = model.graph.op(holder);
  if (!op || region >= op.regions().size())
    fail("{}: network '{}' has no such branch or loop, expected the one that the prepared network has", path,
         model.graph.name());
  return region_model(model, *op.regions()[region], holder);
}

/// "while 'loop': if 'branch'" of the branch.
std::string path_with(Op holder) { return path_to(holder) + fmt::format("{} '{}'", holder.info().name, holder.name()); }

class RegionCheck {
 public:
  RegionCheck(const Model& prepared, const Model& integer, Op holder, size_t region,
              const std::vector<verify::Execution>& executions)
      : holder_(holder.name()),
        path_(path_with(holder)),
        prepared_(region_of(prepared, holder.name(), region, path_)),
        integer_(region_of(integer, holder.name(), region, path_)),
        executions_(executions) {
    if (prepared.source)
      prepared_.source =
          std::make_shared<const Source>(Source{region_of(prepared.source->network, holder.name(), region, path_), {}});
  }

  void run(verify::RoadReport& report, verify::MeaningOptions options, ThreadPool& pool) const {
    const auto source = [&](int64_t begin, int64_t) { return at(begin).arguments; };
    verify::Roads roads = roads_of(prepared_, integer_);
    roads.whole = options.whole = true;
    const int64_t count = std::ssize(executions_);
    verify::RoadReport found = verify::compare_roads(roads, source, count, 1, pool);
    if (prepared_.source) {
      const Model opened = passes::with_open_source(prepared_);
      add_meanings(found, verify::check_meaning(opened, integer_, source, count, options, pool));
      report.floats->add(check_floats(prepared_, at(0).arguments, pool));
    }
    for (verify::LayerReport& layer : found.layers) {
      layer.layer.path = path_;
      if (layer.feature) place(*layer.feature);
      if (layer.meaning && layer.meaning->first) place(*layer.meaning->first);
    }
    std::ranges::move(found.layers, std::inserter(report.layers, in_front_of_results(report)));
  }

 private:
  /// The layers of a region come before what the operation around it gives.
  std::vector<verify::LayerReport>::iterator in_front_of_results(verify::RoadReport& report) const {
    return std::ranges::find_if(report.layers, [&](const verify::LayerReport& report_of) {
      const std::string& name = report_of.layer.name;
      return name == holder_ || name.starts_with(holder_ + ".out");
    });
  }

  const verify::Execution& at(int64_t number) const { return executions_[static_cast<size_t>(number)]; }

  /// From the number of an execution to what a user can find.
  template <class Fault>
  void place(Fault& fault) const {
    const verify::Execution& execution = at(fault.sample);
    fault.sample = execution.sample;
    fault.iteration = execution.iteration;
  }

  std::string holder_, path_;
  Model prepared_, integer_;
  const std::vector<verify::Execution>& executions_;
};

}  // namespace

void verify_regions(verify::RoadReport& report, const Model& prepared, const Model& integer,
                    const train::Samples& samples, const verify::MeaningOptions& options, ThreadPool& pool,
                    const ProgressCallback& progress) {
  std::vector<Op> holders = prepared.graph.all_ops();
  std::erase_if(holders, [](Op op) { return op.regions().empty(); });
  if (holders.empty()) return;
  const auto source = [&](int64_t begin, int64_t count) { return samples.inputs(begin, count); };
  const auto executions =
      verify::executions_of(train::evaluation_form(prepared), source, train::usable(prepared, samples.size()),
                            train::judged_batch(prepared, 64), kMostBytes, pool);
  if (executions.left_out > 0)
    report.notes.push_back(fmt::format(
        "branches and loops: {} of the times that they ran were compared by their results alone", executions.left_out));
  for (size_t i = 0; i < holders.size(); ++i) {
    for (size_t region = 0; region < holders[i].regions().size(); ++region) {
      const auto quantizers = holders[i].regions()[region]->all<ops::FakeQuantize>();
      const auto found = executions.by_region.find({holders[i].name(), region});
      if (quantizers.empty()) continue;
      if (found == executions.by_region.end()) {
        report.notes.push_back(fmt::format("{}: no sample enters its region {}, which was not compared",
                                           path_with(holders[i]), holders[i].info().regions[region]));
        continue;
      }
      RegionCheck(prepared, integer, holders[i], region, found->second).run(report, options, pool);
    }
    if (progress) progress({"branches and loops", static_cast<double>(i + 1), static_cast<double>(holders.size()), ""});
  }
}

}  // namespace halfstep::api
