// Matching of patterns in a graph.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/pattern_text.h"

namespace halfstep::passes {

/// Values bound to the names of a pattern.
struct PatternMatch {
  std::map<std::string, Value> values;
  std::map<std::string, double> numbers;
  std::map<std::string, int64_t> axes;  ///< counted from the end
  std::vector<Op> ops;                  ///< operations that the pattern covers, perhaps with repetitions
};

/// Returns the contents of a tensor with one f32 that nothing updates.
std::optional<double> stored_number(const Model& model, Value value);

/// Matches the pattern against the operations that compute `value`. Returns nothing if they differ. Does not check
/// whether other operations read values inside the match.
std::optional<PatternMatch> match_pattern(const Model& model, const PatternExpr& pattern, Value value);

}  // namespace halfstep::passes
