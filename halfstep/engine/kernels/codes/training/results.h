// The three results of an elementwise operator that requantizes.
#pragma once

#include <algorithm>
#include <limits>
#include <utility>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// Result for one element. out, unclamped and real are ports 0, 1 and 2 of all operators without weights.
struct Requantized {
  int64_t code = 0;  ///< before the clamp, zero point included
  float real = 0.0F;
};

/// Memory of an operator's results. clamp(code) returns the stored code.
template <class ClampCode>
class Results {
 public:
  Results(const Call& call, ClampCode clamp)
      : out_(call.out[0]), unclamped_(call.out[kUnclamped]), real_(call.out[kReal]), clamp_(std::move(clamp)) {}

  void store(int64_t i, const Requantized& result) const {
    visit_codes(out_, [&]<class Code>(Code* dst) { dst[i] = static_cast<Code>(clamp_(result.code)); });
    if (!unclamped_.present()) return;
    using Limits = std::numeric_limits<int32_t>;
    unclamped_.template as<int32_t>()[i] =
        static_cast<int32_t>(std::clamp<int64_t>(result.code, Limits::min(), Limits::max()));
    real_.template as<float>()[i] = result.real;
  }

 private:
  static constexpr int kUnclamped = 1, kReal = 2;
  const View &out_, &unclamped_, &real_;
  ClampCode clamp_;
};

/// Stores the results element(i) for the elements of a piece.
template <class Element, class ClampCode>
void store_piece(const Call& call, int64_t piece, Element&& element, ClampCode&& clamp) {
  const Results results(call, clamp);
  const int64_t end = std::min(call.out[0].size(), (piece + 1) * kPieceElements);
  for (int64_t i = piece * kPieceElements; i < end; ++i) results.store(i, element(i));
}

}  // namespace halfstep::kernels
