#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/builder_behind.h"
#include "halfstep/passes/graph/separate_names.h"
#include "halfstep/quant/platform/selector.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/quantized_regions.h"

namespace halfstep::quant {
namespace {

/// Collects values at which regions begin or end, each once.
class MarkedValues {
 public:
  explicit MarkedValues(const Model& model) : graph_(model.graph), names_(model) {}

  void add(const std::string& pattern, const std::string& region, const std::vector<Value>& otherwise) {
    const size_t before = values_.size();
    if (pattern.empty()) std::ranges::for_each(otherwise, [&](Value value) { add(value); });
    std::vector<std::string> known;
    for (const Value input : graph_.arguments()) add_fitting(pattern, input, names_.fits(pattern, input.name()), known);
    for (Op op : graph_.ops()) {
      if (!op.results().empty()) add_fitting(pattern, op.out(0), names_.fits(pattern, op), known);
    }
    if (values_.size() == before && !pattern.empty() && !fits_)
      fail(errors::region_pattern_fits_nothing(region, pattern, known_names(pattern, known)));
    fits_ = false;
  }

  const std::vector<Value>& values() const { return values_; }

 private:
  void add_fitting(const std::string& pattern, Value value, bool fits, std::vector<std::string>& known) {
    known.push_back(value.name());
    if (pattern.empty() || !fits) return;
    fits_ = true;
    add(value);
  }

  void add(Value value) {
    if (value.dtype() == DType::f32 && std::ranges::find(values_, value) == values_.end()) values_.push_back(value);
  }

  const Graph& graph_;
  LayerNames names_;
  std::vector<Value> values_;
  bool fits_ = false;
};

}  // namespace

Model with_regions(const Model& given, const std::vector<std::string>& regions) {
  Model model = given;
  if (regions.empty()) return model;
  Graph& graph = model.graph;
  if (!graph.all<ops::InputNop>().empty() || !graph.all<ops::OutputNop>().empty())
    fail(errors::region_in_marked_network(regions[0], graph.name()));
  passes::separate_names(model);
  MarkedValues begins(model), ends(model);
  for (const std::string& region : regions) {
    const size_t colon = region.find(':');
    if (colon == std::string::npos || region.find(':', colon + 1) != std::string::npos)
      fail(errors::region_malformed(region));
    begins.add(region.substr(0, colon), region, graph.arguments());
    ends.add(region.substr(colon + 1), region, graph.outputs());
  }
  const auto mark = [&](Value value, auto make) {
    Builder builder = passes::builder_behind(graph, value);
    builder.at((value.producer() ? value.producer() : graph.ops().front()).location());
    const Op marker = make(builder);
    value.replace_all_uses_with(marker.out(0));
    marker.set_operand(0, value);
  };
  for (const Value value : begins.values())
    mark(value,
         [&](Builder& builder) { return ops::input_nop(builder, {.x = value, .name = value.name() + ".begin"}); });
  for (const Value value : ends.values())
    mark(value, [&](Builder& builder) {
      return ops::output_nop(builder,
                             {.x = value, .outputs = std::ssize(ends.values()), .name = value.name() + ".end"});
    });
  return model;
}

}  // namespace halfstep::quant
