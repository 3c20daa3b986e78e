#include "halfstep/kernels/tensor/maps.h"

#include <algorithm>

#include "halfstep/kernels/common/number_types.h"

namespace halfstep::kernels::tensor {
namespace {

constexpr int64_t kPieceElements = 16384;

}  // namespace

Maps::Maps(std::vector<std::vector<int64_t>> tables) {
  row_ = tables.empty() ? std::vector<int64_t>{0} : std::move(tables.back());
  if (!tables.empty()) tables.pop_back();
  outer_.assign(std::make_move_iterator(tables.rbegin()), std::make_move_iterator(tables.rend()));
  for (const auto& table : outer_) rows_ *= static_cast<int64_t>(table.size());
  if (row_.empty()) rows_ = 0;
  const auto is_inside = [](int64_t offset) { return offset != kOutside; };
  const auto first = std::find_if(row_.begin(), row_.end(), is_inside);
  const auto behind = std::find_if(row_.rbegin(), row_.rend(), is_inside).base();
  if (first < behind && std::adjacent_find(first, behind, [](int64_t a, int64_t b) { return b != a + 1; }) == behind) {
    run_begin_ = first - row_.begin();
    run_end_ = behind - row_.begin();
  }
  rows_per_piece_ = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, static_cast<int64_t>(row_.size())));
}

int64_t Maps::row_offset(int64_t row) const {
  int64_t offset = 0;
  for (const auto& table : outer_) {
    const auto extent = static_cast<int64_t>(table.size());
    const int64_t part = table[row % extent];
    if (part == kOutside) return kOutside;
    offset += part;
    row /= extent;
  }
  return offset;
}

template <class T>
void Maps::copy(const T* src, T value, T* dst, int64_t piece) const {
  const auto size = static_cast<int64_t>(row_.size());
  const int64_t end = std::min(rows_, (piece + 1) * rows_per_piece_);
  for (int64_t row = piece * rows_per_piece_; row < end; ++row) {
    const int64_t offset = row_offset(row);
    T* at = dst + row * size;
    if (offset == kOutside) {
      std::fill_n(at, size, value);
    } else if (run_begin_ < run_end_) {
      std::fill_n(at, run_begin_, value);
      std::copy_n(src + offset + row_[run_begin_], run_end_ - run_begin_, at + run_begin_);
      std::fill_n(at + run_end_, size - run_end_, value);
    } else {
      for (int64_t i = 0; i < size; ++i) at[i] = row_[i] == kOutside ? value : src[offset + row_[i]];
    }
  }
}

void Maps::run(const ConstView& x, const void* value, const View& out, int64_t piece) const {
  with_bits(out.dtype, [&]<class T>() {
    copy(x.as<const T>(), value == nullptr ? T(0) : *static_cast<const T*>(value), out.as<T>(), piece);
  });
}

std::vector<int64_t> inverse_axes(std::span<const int64_t> perm) {
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return inverse;
}

std::vector<int64_t> dense_strides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

}  // namespace halfstep::kernels::tensor
