// Rules of a platform that restrict its general bit widths, or refuse operators. A rule selects operators by name or
// kind, and by properties of the layer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"

namespace halfstep::quant {

class YamlReader;

/// Properties of an operation that rules test.
struct Selected {
  const OpInfo* op = nullptr;
  int64_t groups = 1, channels = 0;        ///< for a layer with weights, channels is 0 if its input is not an image
  int64_t kernel = 0;                      ///< longer side of the window, 0 without a window
  int64_t stride = 0;                      ///< longer stride of the window
  int64_t inputs = 0;                      ///< number of operands without weight and bias
  bool is_first = false, is_last = false;  ///< first or last layer with weights
  std::set<int64_t> reads = {};            ///< bit widths of the input codes
  int64_t gives = 0;                       ///< bit width of the output codes
};

/// The properties of an operation of a float or prepared network. Does not set is_first, is_last, reads and gives,
/// which depend on the position in the network.
Selected selected(Op op);

/// `op` selects one operator. If it is empty, `trait` selects a kind. The first rule that selects an operation applies.
struct LegalRule {
  std::string op = {}, reason = {};
  Trait trait = Trait::none;
  std::string where = {};                               ///< one of layer_properties(), or "" for all layers
  int64_t kernel_above = 0, stride_above = 0;           ///< selects larger windows or strides only, 0: any
  int64_t inputs_above = 0;                             ///< selects operations with more inputs only, 0: any number
  std::vector<int64_t> reads = {};                      ///< all input codes have one of these bit widths, empty: any
  bool refused = false;                                 ///< the target does not have the operator
  std::vector<int64_t> activations = {}, weights = {};  ///< legal bit widths, empty: the general rule
  std::vector<int64_t> gives = {};                      ///< legal bit widths of the result, empty: as `activations`

  bool selects(const Selected& operation) const;
};

/// Whether any platform computes the operator on codes, or moves codes with it.
bool can_have_codes(const OpInfo& op);

/// Returns depthwise, grouped, first, last.
const std::vector<std::string>& layer_properties();

/// Reads the list `legal` of a record. Reports rules that never apply.
std::vector<LegalRule> read_legal_rules(const YamlReader& record);

}  // namespace halfstep::quant
