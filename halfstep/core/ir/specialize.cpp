#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/model.h"

namespace halfstep {
namespace {

void check_names(const Graph& graph, const std::map<std::string, Dims>& argument_dims) {
  std::vector<std::string> names;
  for (const Value argument : graph.arguments()) names.push_back(argument.name());
  for (const auto& [name, dims] : argument_dims) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      fail(errors::not_an_argument(graph.name(), name, did_you_mean(name, names)));
  }
}

/// Whether `dims` agrees with `declared`, whose unknown extents match any extent.
bool fits(const Dims& declared, const Dims& dims) {
  return std::equal(declared.begin(), declared.end(), dims.begin(), dims.end(),
                    [](int64_t a, int64_t b) { return b >= 0 && (a == b || a == kUnknown); });
}

}  // namespace

Model specialize(const Model& model, const std::map<std::string, Dims>& argument_dims) {
  check_names(model.graph, argument_dims);
  Model result = model;
  for (const Value argument : result.graph.arguments()) {
    const auto given = argument_dims.find(argument.name());
    const Dims& dims = given == argument_dims.end() ? argument.dims() : given->second;
    if (!fits(argument.dims(), dims)) {
      fail(errors::argument_dims(model.graph.name(), argument.name(), to_string(dims),
                                 given == argument_dims.end() ? "them all known" : to_string(argument.dims())));
    }
    result.graph.set_type(argument, {argument.dtype(), dims});
  }
  for (const Op op : result.graph.ops()) op.infer();
  return result;
}

}  // namespace halfstep
