// Common parts of reference kernels of the integer program: pieces of elements, and one factor for all of them.
#pragma once

#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/integer/step.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"

namespace halfstep::kernels {

/// Plans pieces of elements.
template <class Typed>
Plan prepare_elements(const Problem& problem) {
  return {.state = std::make_shared<Typed>(problem.attributes),
          .phases = {pieces_of(count_elements(problem.out[0]->dims))}};
}

/// dst[i] = code_at(i) for the elements of a piece. code_at returns int32_t.
template <class CodeAt>
void fill_piece(const View& out, int64_t piece, CodeAt&& code_at) {
  visit_codes(out, [&]<class Code>(Code* dst) {
    const int64_t end = std::min(out.size(), (piece + 1) * kPieceElements);
    for (int64_t i = piece * kPieceElements; i < end; ++i) dst[i] = static_cast<Code>(code_at(i));
  });
}

/// The requantizer of a product of two values.
inline arith::Requantizer product_requantizer(const IntegerMul& a) {
  const auto form = form_of(a);
  if (!arith::traits(form).keeps_scales) return stored_scale(a.multiplier, a.shift, shift_rounding(a));
  return arith::float_product(form, float_of(a.a_scale), float_of(a.b_scale), float_of(a.y_scale));
}

/// Requantizes a 64-bit accumulator. Conversion proves that the form takes it.
template <class Typed>
int32_t requantized(const Typed& a, const arith::Requantizer& requantizer, int64_t acc) {
  return clamp_of(a).apply(arith::requantize(requantizer, acc, static_cast<int32_t>(a.y_zero_point)));
}

}  // namespace halfstep::kernels
