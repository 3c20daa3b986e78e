#include "halfstep/passes/learned_parts.h"

#include "halfstep/passes/learned_quantizers.h"
#include "halfstep/passes/normalizations.h"

namespace halfstep::passes {

void settle_learned_parts(Model& model) {
  settle_normalizations(model);
  settle_quantizers(model);
}

void close_learned_parts(Model& model) {
  close_normalizations(model);
  close_quantizers(model);
}

}  // namespace halfstep::passes
