#include "halfstep/tune/sensitivity/inside.h"

#include <algorithm>
#include <map>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/verify/equivalence/executions.h"

namespace halfstep::sensitivity {
namespace {

constexpr size_t kMostGiven = size_t{256} << 20U;  ///< bytes of region arguments in memory

/// A region of the float network, with the inputs of its quantizers.
class Inside {
 public:
  Inside(Model region, ThreadPool& pool) : region_(std::move(region)), pool_(pool) {}

  void add(size_t place, const std::string& value) {
    values_.emplace_back(place, value);
    const auto arguments = region_.graph.arguments();
    const bool is_given = std::ranges::any_of(arguments, [&](Value argument) { return argument.name() == value; });
    if (!is_given && std::ranges::find(made_, value) == made_.end()) made_.push_back(value);
  }

  void see(const Tensors& arguments, const std::function<void(size_t, const Tensor&)>& see) {
    const Tensors made = made_.empty() ? Tensors() : program_for(arguments).run(arguments, pool_);
    for (const auto& [place, value] : values_) {
      const auto found = made.find(value);
      see(place, found == made.end() ? arguments.at(value) : found->second);
    }
  }

 private:
  runtime::Program& program_for(const Tensors& arguments) {
    std::map<std::string, Dims> extents;
    for (const auto& [name, tensor] : arguments) extents.emplace(name, tensor.dims());
    if (!programs_.contains(extents)) {
      Model sized = specialize(region_, extents);
      std::vector<Value> outputs;
      for (const std::string& name : made_) outputs.push_back(sized.graph.value(name));
      sized.graph.set_outputs(outputs, made_);
      programs_.emplace(extents, compile(sized));
    }
    return programs_.at(extents);
  }

  Model region_;
  ThreadPool& pool_;
  std::vector<std::pair<size_t, std::string>> values_;  ///< with their places
  std::vector<std::string> made_;                       ///< values that are not arguments
  std::map<std::map<std::string, Dims>, runtime::Program> programs_;
};

}  // namespace

int64_t see_inside(const FloatNetwork& network, const Trial& trial,
                   const std::function<void(size_t place, const Tensor& values)>& see) {
  const Model form = train::evaluation_form(network.in_float());
  std::map<std::pair<std::string, size_t>, Inside> regions;
  for (size_t p = 0; p < network.places().size(); ++p) {
    const Place& place = network.places()[p];
    if (!place.is_computed() || !is_in_region(place.quantizer)) continue;
    const Block* const block = place.quantizer.node()->block;
    const Op holder = block->parent();
    const auto number = static_cast<size_t>(
        std::ranges::find(holder.regions(), block, [](const auto& region) { return region.get(); }) -
        holder.regions().begin());
    const std::pair key(holder.name(), number);
    if (!regions.contains(key)) {
      const Block& region = *form.graph.op(holder.name()).regions()[number];
      regions.emplace(key, Inside(region_model(form, region, holder.name()), trial.pool()));
    }
    regions.at(key).add(p, place.value());
  }
  if (regions.empty()) return 0;
  const auto executions = verify::executions_of(
      form, [&](int64_t begin, int64_t count) { return trial.inputs(begin, count); }, trial.size(), trial.batch(),
      kMostGiven, trial.pool());
  for (auto& [key, inside] : regions) {
    const auto found = executions.by_region.find(key);
    if (found == executions.by_region.end()) continue;
    for (const verify::Execution& execution : found->second) inside.see(execution.arguments, see);
  }
  return executions.left_out;
}

}  // namespace halfstep::sensitivity
