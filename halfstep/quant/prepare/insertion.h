// Which values of a float network have quantizers on a target that says so by kinds of operators.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/platform/insertion_rules.h"

namespace halfstep::quant {

struct Insertion {
  /// A value with a quantizer.
  struct Feature {
    Value value;
    std::string reason;        ///< the rule that asked
    bool is_unsigned = false;  ///< on a target of signed features: codes from 0 on
    bool at_edge = false;      ///< read by an operation at an end of the network
  };
  std::vector<Feature> features;                 ///< in the order in which they are found
  std::set<const detail::ValueNode*> quantized;  ///< their values
  std::vector<Op> weighted;                      ///< operations whose weights have quantizers
  std::set<const detail::OpNode*> edges;         ///< that read an input of the network, or give one of its outputs

  bool has(Value value) const { return quantized.contains(value.node()); }
};

/// What somebody asks for of single operations, with the reason, and what became of some.
struct Requests {
  std::map<const detail::OpNode*, std::string> in_float;  ///< neither ask nor give
  std::map<const detail::OpNode*, std::string> also;      ///< ask for quantized features whatever the rules say
  std::set<std::string> normalized = {};                  ///< layers that took a normalization in
  std::set<std::string> means = {};                       ///< that give a mean without the axes that it is over
};

/// The one algorithm; a target is nothing but `rules`. Throws where an operation is in both of `requests`.
Insertion insertion_of(const Graph& graph, const InsertionRules& rules, const Requests& requests);

/// By value, what MQBench does there otherwise by the quirks of `rules`, and why; none where they are followed. `ours`:
/// what is inserted without. `has_edges`: the ends of the network have widths of their own.
std::map<std::string, std::string> deviations_from_mqbench(const Graph& graph, const InsertionRules& rules,
                                                           const Requests& requests, const Insertion& ours,
                                                           bool has_edges);

}  // namespace halfstep::quant
