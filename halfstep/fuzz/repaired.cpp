// Checks networks that a correction method has changed.
#include <fmt/format.h>

#include "halfstep/fuzz/checks.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/tune/repair/repair.h"

namespace halfstep::fuzz {

/// Gradient-based methods run only a few steps.
void check_repairs(Trial& trial) {
  const auto methods = repair::method_list();
  const repair::MethodInfo& method = methods[trial.seed() / kRepairsEvery % methods.size()];
  if (trial.samples().size() < 2) throw Skipped{"too few samples for a validation split"};
  const repair::Options options{.methods = {method.name}, .steps = 4, .batch = 4};
  const Model repaired = repair::repair(trial.prepared(), trial.samples(), {}, options, trial.tools().pool).model;
  const Model integer = quant::convert(repaired, {.float_fallback = true}).model;
  try {
    require_same_codes(trial, trial.tools().paths_of(repaired, integer));
  } catch (const Found& found) {
    throw Found{fmt::format("after {}: {}", method.name, found.what)};
  }
}

}  // namespace halfstep::fuzz
