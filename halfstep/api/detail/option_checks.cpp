#include "halfstep/api/detail/option_checks.h"

#include <algorithm>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/quant/convert/convert.h"

namespace halfstep::api {

void check_options(const QuantizeOptions& options) {
  require_in_range(options);
  repair::check_methods(options.repair);
  repair::require_free(options.repair);
}

void check_options(const TrainOptions& options) {
  require_in_range(options);
  check_options(options.schedule.quantize);
}

void rethrow_as_convert(const Model& prepared, const Error& error) {
  std::vector<Diagnostic> objections;
  collect(objections, "", "", [&] { quant::convert(prepared, {.float_fallback = true}); });
  const auto is_said = [&](const Diagnostic& one) {
    // For a kernel's error, the reason equals the problem of the diagnostic that conversion derives from it.
    return std::ranges::any_of(error.diagnostics(), [&](const Diagnostic& said) {
      return said.says_the_same_as(one) || said.reason() == one.problem;
    });
  };
  if (std::ranges::any_of(objections, is_said)) fail_on_any(std::move(objections));
}

}  // namespace halfstep::api
