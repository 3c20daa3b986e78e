// Where a graph has the form of a pattern.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/pattern_text.h"

namespace halfstep::passes {

/// What the names of a pattern are in a graph.
struct PatternMatch {
  std::map<std::string, Value> values;
  std::map<std::string, double> numbers;
  std::map<std::string, int64_t> axes;  ///< counted from the end
  std::vector<Op> ops;                  ///< those that the pattern stands for; an operation may be there twice
};

/// The contents of a tensor of one f32 that nothing changes.
std::optional<double> stored_number(const Model& model, Value value);

/// How the operations behind `value` are those of the pattern; nothing where they are not. Whether anything else reads
/// them is not asked.
std::optional<PatternMatch> match_pattern(const Model& model, const PatternExpr& pattern, Value value);

}  // namespace halfstep::passes
