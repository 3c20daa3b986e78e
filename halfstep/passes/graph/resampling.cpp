#include "halfstep/passes/graph/resampling.h"

namespace halfstep::passes {

arith::Resampling resampling_of(Op op) {
  const Attributes& all = op.attributes();
  const auto text = [&](const char* name) { return get<std::string>(all, name); };
  const auto floats = [&](const char* name) { return get<std::vector<double>>(all, name); };
  const auto integers = [&](const char* name) { return get<std::vector<int64_t>>(all, name); };
  return {integers("sizes"),
          floats("scales"),
          integers("axes"),
          floats("roi"),
          text("policy"),
          text("mode"),
          text("nearest_mode"),
          text("coordinates"),
          get<double>(all, "cubic_coeff_a"),
          get<bool>(all, "exclude_outside"),
          get<bool>(all, "antialias")};
}

}  // namespace halfstep::passes
