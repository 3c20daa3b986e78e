// What a platform allows beyond its general widths: rules that select operators by name, by kind and by their layer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::quant {

class YamlReader;

/// What rules select an operation by.
struct Selected {
  const OpInfo* op = nullptr;
  int64_t groups = 1, channels = 0;        ///< of a layer with weights; 0 channels where it has no images
  int64_t kernel = 0;                      ///< the longer side of its window, 0 without one
  int64_t stride = 0;                      ///< the longer step of its window
  int64_t inputs = 0;                      ///< how many values it reads, but for weight and bias
  bool is_first = false, is_last = false;  ///< of the layers with weights
  std::set<int64_t> reads = {};            ///< widths of the codes that it reads
  int64_t gives = 0;                       ///< width of the codes that it gives
};

/// An operation of a float or prepared network as rules see it, but for is_first, is_last and the widths of its codes,
/// which its place decides.
Selected selected(Op op);

/// `op` names one operator, else `trait` a kind. The first rule that selects an operation decides.
struct LegalRule {
  std::string op = {}, reason = {};
  Trait trait = Trait::none;
  std::string where = {};                            ///< one of layer_properties, "" for all layers
  int64_t kernel_above = 0, stride_above = 0;        ///< 0: of any window, or of none
  int64_t inputs_above = 0;                          ///< 0: however many
  std::vector<int64_t> reads = {};                   ///< all that it reads has these widths; empty: any
  bool refused = false;                              ///< the target has no such operator at all
  std::vector<int64_t> features = {}, weights = {};  ///< empty: as the general rule
  std::vector<int64_t> gives = {};                   ///< widths of its result; empty: as `features`

  bool selects(const Selected& operation) const;
};

/// Whether the operator computes on codes or moves them, on some platform.
bool can_have_codes(const OpInfo& op);

/// depthwise, grouped, first, last.
const std::vector<std::string>& layer_properties();

/// The list `legal` of a record. A rule that never decides anything is objected to.
std::vector<LegalRule> read_legal_rules(const YamlReader& record);

}  // namespace halfstep::quant
