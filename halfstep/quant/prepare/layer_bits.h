// Checks combinations of bit widths of operators, and changes many bit widths together.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/platform/platform.h"

namespace halfstep::quant {

/// The operation after which the step is named.
Op layer_of(const passes::QuantizedStep& step);

/// The quantizers of the codes that a step reads, followed by those of the codes that it computes. Empty for a float
/// operator.
std::vector<ops::FakeQuantize> activation_quantizers(const passes::QuantizedStep& step);

/// The steps of the network and of its regions, outermost first.
std::vector<passes::QuantizedStep> steps_of_all_blocks(Model& model);

using WidthOf = std::function<int(const ops::FakeQuantize&)>;

/// Checks the bit widths of a network's steps against a platform.
class WidthRules {
 public:
  /// The first and the last layer are those outside of regions. `steps` must outlive this object.
  WidthRules(const Platform& platform, const std::vector<passes::QuantizedStep>& steps);
  /// Objections to the bit widths of a step, with its location.
  std::vector<Diagnostic> objections(const passes::QuantizedStep& step, const WidthOf& bits) const;

 private:
  const Platform& platform_;
  const passes::QuantizedStep *first_ = nullptr, *last_ = nullptr;  ///< first and last step with weights
};

/// Bit widths by the name of the scale tensor.
using BitWidths = std::map<std::string, int>;

/// Changes bit widths of a network that is prepared for `platform`. Checks every operator that reads or computes codes
/// of a new bit width, or has a weight with one. Throws an Error that lists all operators with illegal bit widths. The
/// network is then unchanged.
void set_bit_widths(Model& model, const Platform& platform, const BitWidths& bit_widths);

}  // namespace halfstep::quant
