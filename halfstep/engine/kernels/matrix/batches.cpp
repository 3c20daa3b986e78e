#include "halfstep/engine/kernels/matrix/batches.h"

#include <algorithm>

#include "halfstep/engine/kernels/common/broadcast.h"

namespace halfstep::kernels {
namespace {

/// Products of a piece.
constexpr int64_t kPieceProducts = int64_t{1} << 20;

/// The axes before the last two. A one-dimensional operand has none.
std::span<const int64_t> batch_of(const Dims& dims) {
  return std::span(dims).first(dims.size() < 2 ? 0 : dims.size() - 2);
}

}  // namespace

MatmulShape::MatmulShape(const Dims& a, const Dims& b, const Dims& y) : inner(a.back()) {
  if (a.size() > 1) rows = a[a.size() - 2];
  if (b.size() > 1) columns = b.back();
  const size_t matrix_axes = (a.size() > 1 ? 1 : 0) + (b.size() > 1 ? 1 : 0);
  const auto batch = std::span(y).first(y.size() - matrix_axes);
  const int64_t count = count_elements(batch);
  for (int64_t i = 0; i < count; ++i) {
    a_batch.push_back(broadcast_index(batch_of(a), batch, i));
    b_batch.push_back(broadcast_index(batch_of(b), batch, i));
  }
  rows_per_piece = std::max<int64_t>(1, kPieceProducts / std::max<int64_t>(1, inner * columns));
}

}  // namespace halfstep::kernels
