// The three results of an elementwise operator that requantizes.
#pragma once

#include <algorithm>
#include <limits>

#include "halfstep/kernels/common/channels.h"
#include "halfstep/kernels/common/codes.h"
#include "halfstep/kernels/kernel.h"

namespace halfstep::kernels {

/// out, unclamped and real stand at ports 0, 1 and 2 of quantized_add, mul, avg_pool2d, lookup and rescale.
struct Requantized {
  int64_t code = 0;  ///< before the clamp, zero point included
  float real = 0.0F;
};

/// Stores the elements of a piece; element(i) returns Requantized and clamp(code) the stored code.
template <class Element, class ClampCode>
void store_piece(const Call& call, int64_t piece, Element&& element, ClampCode&& clamp) {
  constexpr int kUnclamped = 1, kReal = 2;
  using Limits = std::numeric_limits<int32_t>;
  const View& unclamped = call.out[kUnclamped];
  const int64_t end = std::min(call.out[0].size(), (piece + 1) * kPieceElements);
  visit_codes(call.out[0], [&]<class Code>(Code* dst) {
    for (int64_t i = piece * kPieceElements; i < end; ++i) {
      const Requantized result = element(i);
      dst[i] = static_cast<Code>(clamp(result.code));
      if (!unclamped.present()) continue;
      unclamped.as<int32_t>()[i] = static_cast<int32_t>(std::clamp<int64_t>(result.code, Limits::min(), Limits::max()));
      call.out[kReal].as<float>()[i] = result.real;
    }
  });
}

}  // namespace halfstep::kernels
