#include "halfstep/core/ir/metadata/decisions.h"

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/model.h"

namespace halfstep {

const FirstLastScales& first_last_scales(const Model& model) {
  if (!model.metadata.first_last_scales) fail(errors::edge_scales_missing(model.graph.name()));
  return *model.metadata.first_last_scales;
}

}  // namespace halfstep
