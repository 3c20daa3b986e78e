// Which widths operators may have together, and many of them changed at once.
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

/// The operation that gives the step its name.
Op layer_of(const passes::QuantizedStep& step);

/// The quantizers of the codes that go into a step, and last that of those that come out of it; none of a real
/// operator.
std::vector<ops::FakeQuantize> feature_quantizers(const passes::QuantizedStep& step);

using WidthOf = std::function<int(const ops::FakeQuantize&)>;

/// What a platform says against widths of a network's steps.
class WidthRules {
 public:
  /// `steps` must outlive it.
  WidthRules(const Platform& platform, const std::vector<passes::QuantizedStep>& steps);
  /// Against all widths of a step, with its place.
  std::vector<Diagnostic> objections(const passes::QuantizedStep& step, const WidthOf& bits) const;

 private:
  const Platform& platform_;
  const passes::QuantizedStep *first_ = nullptr, *last_ = nullptr;  ///< with weights
};

/// Bits by the name of the scale tensor.
using Widths = std::map<std::string, int>;

/// Changes widths of a network that is prepared for `platform`; throws a Error with every operator that reads or
/// gives codes of a new width, or has a weight of one, and may not have all of its widths. Then nothing is changed.
void set_widths(Model& model, const Platform& platform, const Widths& widths);

}  // namespace halfstep::quant
