// What a platform allows beyond its general widths: rules that select operators by name, by kind and by their layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halfstep/ir/graph.h"
#include "halfstep/quant/yaml_reader.h"

namespace halfstep::quant {

/// What rules select an operation by.
struct Selected {
  const OpInfo* op = nullptr;
  int64_t groups = 1, channels = 0;        ///< of a layer with weights; 0 channels where it has no images
  int64_t kernel = 0;                      ///< the longer side of its window, 0 without one
  bool is_first = false, is_last = false;  ///< of the layers with weights
};

/// An operation of a float or prepared network as rules see it, but for is_first and is_last, which its place decides.
Selected selected(Op op);

/// `op` names one operator, else `trait` a kind. The first rule that selects an operation decides.
struct LegalRule {
  std::string op = {}, reason = {};
  Trait trait = Trait::none;
  std::string where = {};                            ///< one of layer_properties, "" for all layers
  int64_t kernel_above = 0;                          ///< 0: of any window, or of none
  bool refused = false;                              ///< the target has no such operator at all
  std::vector<int64_t> features = {}, weights = {};  ///< empty: as the general rule

  bool selects(const Selected& operation) const;
};

/// depthwise, grouped, first, last.
const std::vector<std::string>& layer_properties();

/// The list `legal` of a record. A rule that never decides anything is objected to.
std::vector<LegalRule> read_legal_rules(const YamlReader& record);

}  // namespace halfstep::quant
