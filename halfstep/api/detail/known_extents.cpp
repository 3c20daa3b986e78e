#include "halfstep/api/detail/known_extents.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/status.h"
#include "halfstep/passes/graph/dependence.h"

namespace halfstep::api {
namespace {

std::map<std::string, Dims> extents_of(const Graph& graph, int64_t batch, int64_t extent) {
  std::map<std::string, Dims> extents;
  for (const Value argument : graph.arguments()) extents[argument.name()] = assumed(argument.dims(), batch, extent);
  return extents;
}

}  // namespace

Dims assumed(Dims dims, int64_t batch, int64_t extent) {
  if (!dims.empty() && dims[0] == kUnknown) dims[0] = batch;
  std::ranges::replace(dims, kUnknown, extent);
  return dims;
}

Diagnostic takes_none_of_them() {
  return errors::no_assumed_extent_fits(fmt::format("{}", fmt::join(kAssumedExtents, ", ")));
}

Model with_known_extents(const Model& model, int64_t batch) {
  const Graph& graph = model.graph;
  if (passes::open_lengths(graph).empty()) return specialize(model, extents_of(graph, batch, kAssumedExtents[0]));
  std::optional<Error> first;
  for (const int64_t extent : kAssumedExtents) {
    try {
      return specialize(model, extents_of(graph, batch, extent));
    } catch (const Error& error) {
      if (!first) first = error;
    }
  }
  Diagnostic lack = first->diagnostics().front();
  lack.remedy = takes_none_of_them().remedy;
  throw Error(std::vector{std::move(lack), takes_none_of_them()});
}

std::map<std::string, Dims> known_extents(const Model& model, int64_t batch) {
  if (!passes::open_lengths(model.graph).empty()) return known_extents(with_known_extents(model, batch), batch);
  return extents_of(model.graph, batch, kAssumedExtents[0]);
}

}  // namespace halfstep::api
