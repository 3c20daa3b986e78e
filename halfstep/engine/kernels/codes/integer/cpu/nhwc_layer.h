// Layers of the integer program on channels-last pixels: common part of their kernels.
#pragma once

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/codes/integer/cpu/lane_steps.h"
#include "halfstep/engine/kernels/codes/integer/step.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/image/channels_last/geometry.h"

namespace halfstep::kernels::integer {

/// Offset of u16 codes, which are multiplied as int16.
inline constexpr int32_t kWideOffset = 32768;

/// integer_conv2d, or integer_linear as a window of one pixel over a line of pixels.
struct NhwcLayer {
  explicit NhwcLayer(const Problem& problem);

  ConvGeometry geometry;
  DType x_type = DType::u8, out_type = DType::u8;
  bool wide_in = false, wide_out = false;  ///< two-byte codes
  int32_t x_zero_point = 0;
  CodeRange range;
  StepForm form;
  int64_t step_count = 1;

  /// Offset that is subtracted from codes before they are multiplied.
  int32_t offset() const { return x_type == DType::u16 ? kWideOffset : 0; }
  bool are_bytes() const { return x_type == DType::u8; }  ///< type that VNNI and AMX multiply
};

/// The range of codes of this type, from an operator's attributes.
template <class Attributes>
CodeRange range_of(const Attributes& attributes, DType out) {
  const int32_t middle = !is_signed(out) ? 0 : is_wide(out) ? 1 << 15 : 1 << 7;
  const int32_t half = shift_rounding(attributes) == arith::ShiftRounding::truncate ? 0 : 1;
  return {static_cast<int32_t>(attributes.y_zero_point), clamp_of(attributes), middle, half};
}

/// Refuses a zero point of the result that is not a code of its type.
Verdict accept_zero_point(int64_t zero_point, DType out);

/// Accepts layers that have elements and whose zero point is a code.
Verdict accept_layer(const Problem& problem);

/// Operands as the program stores them. data(position) is an operand's contents or null.
struct NhwcParameters {
  const int8_t* weights;
  const int32_t* bias;  ///< null if an engine adds a float bias
  StoredSteps steps;

  template <class Data>
  static NhwcParameters of(const NhwcLayer& layer, Data&& data) {
    using In = IntegerConv2d::in;
    const bool is_whole = !arith::traits(layer.form.form).is_engine;
    return {static_cast<const int8_t*>(data(In::w)), is_whole ? static_cast<const int32_t*>(data(In::b)) : nullptr,
            stored_steps(layer.form, layer.step_count, data)};
  }
};

/// Sets a lane for channel `o`: acc = sum (code - offset) * w + (offset - x_zero_point) * sum w + b, all modulo 2^32.
void set_lane(const NhwcLayer& layer, const NhwcParameters& from, int64_t o, LaneSteps& steps, int64_t lane);

/// Packs parameters with pack(parameters, memory of `bytes`). prepare packs constant parameters. For others, a first
/// phase of every call packs them.
template <class Pack>
Status pack_constant(const Problem& problem, const NhwcLayer& layer, int64_t bytes, Tensor& packed, Plan& plan,
                     Pack&& pack) {
  using In = IntegerConv2d::in;
  for (size_t i = 0; i < problem.in.size(); ++i) {
    if (i == In::x || problem.in[i] == nullptr || problem.constants[i] != nullptr) continue;
    plan.scratch = static_cast<size_t>(bytes);
    plan.phases.insert(plan.phases.begin(), 1);
    return {};
  }
  plan.packed = {In::w};
  if (!problem.runs) return {};
  packed = Tensor(DType::u8, {bytes});
  return pack(NhwcParameters::of(layer, [&](size_t i) { return problem.constant(i); }), packed.raw());
}

}  // namespace halfstep::kernels::integer
