#include "halfstep/core/ir/metadata/decisions.h"

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/model.h"

namespace halfstep {

const EdgeScales& edge_scales(const Model& model) {
  if (!model.metadata.edge_scales) fail(errors::edge_scales_missing(model.graph.name()));
  return *model.metadata.edge_scales;
}

}  // namespace halfstep
