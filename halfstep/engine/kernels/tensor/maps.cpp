#include "halfstep/engine/kernels/tensor/maps.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "halfstep/engine/kernels/common/number_types.h"

namespace halfstep::kernels::tensor {
namespace {

constexpr int64_t kPieceElements = 16384;
/// Bytes that are moved at once, in runs that are multiples of it.
constexpr int64_t kBlock = 16;
/// Longest run that is copied in blocks. The C library copies longer ones, because its call costs as much as some
/// blocks.
constexpr int64_t kShortRun = 256;

using Table = std::vector<int64_t>;

Table take_last(std::vector<Table>& tables) {
  if (tables.empty()) return {0};
  Table last = std::move(tables.back());
  tables.pop_back();
  return last;
}

/// Whether the offsets are in steps of `step`, without kOutside.
bool is_even(std::span<const int64_t> table, int64_t step) {
  if (table.empty() || std::ranges::find(table, kOutside) != table.end()) return false;
  return std::ranges::adjacent_find(table, [&](int64_t a, int64_t b) { return b != a + step; }) == table.end();
}

template <class T>
void copy_run(const T* src, int64_t count, T* dst) {
  const auto bytes = count * static_cast<int64_t>(sizeof(T));
  if (bytes > kShortRun || bytes % kBlock != 0) {
    std::copy_n(src, count, dst);
    return;
  }
  for (int64_t at = 0; at < bytes; at += kBlock)
    std::memcpy(reinterpret_cast<std::byte*>(dst) + at, reinterpret_cast<const std::byte*>(src) + at, kBlock);
}

}  // namespace

Maps::Maps(std::vector<Table> tables) : row_(take_last(tables)) {
  // Joins an axis with the inner one if it continues where the inner one ends.
  while (!tables.empty() && is_even(row_, 1) && is_even(tables.back(), static_cast<int64_t>(row_.size()))) {
    const int64_t first = row_.front() + tables.back().front();
    row_.resize(row_.size() * tables.back().size());
    std::iota(row_.begin(), row_.end(), first);
    tables.pop_back();
  }
  line_ = take_last(tables);
  outer_.assign(std::make_move_iterator(tables.rbegin()), std::make_move_iterator(tables.rend()));
  rows_ = row_.empty() ? 0 : static_cast<int64_t>(line_.size());
  for (const Table& table : outer_) rows_ *= static_cast<int64_t>(table.size());
  const auto is_inside = [](int64_t offset) { return offset != kOutside; };
  const auto first = std::find_if(row_.begin(), row_.end(), is_inside);
  const auto behind = std::find_if(row_.rbegin(), row_.rend(), is_inside).base();
  if (first < behind && is_even(std::span(first, behind), 1)) {
    run_begin_ = first - row_.begin();
    run_end_ = behind - row_.begin();
  }
  rows_per_piece_ = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, static_cast<int64_t>(row_.size())));
}

int64_t Maps::line_offset(int64_t line) const {
  int64_t offset = 0;
  for (const Table& table : outer_) {
    const auto extent = static_cast<int64_t>(table.size());
    const int64_t part = table[static_cast<size_t>(line % extent)];
    if (part == kOutside) return kOutside;
    offset += part;
    line /= extent;
  }
  return offset;
}

template <class T>
void Maps::copy_row(const T* src, T value, T* dst) const {
  const auto size = static_cast<int64_t>(row_.size());
  if (run_begin_ < run_end_) {
    std::fill_n(dst, run_begin_, value);
    copy_run(src + row_[static_cast<size_t>(run_begin_)], run_end_ - run_begin_, dst + run_begin_);
    std::fill_n(dst + run_end_, size - run_end_, value);
  } else {
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = row_[static_cast<size_t>(i)];
      dst[i] = at == kOutside ? value : src[at];
    }
  }
}

template <class T>
void Maps::copy(const T* src, T value, T* dst, int64_t piece) const {
  const auto size = static_cast<int64_t>(row_.size()), rows_of_line = static_cast<int64_t>(line_.size());
  const int64_t end = std::min(rows_, (piece + 1) * rows_per_piece_);
  for (int64_t row = piece * rows_per_piece_; row < end;) {
    const int64_t around = line_offset(row / rows_of_line), first = row % rows_of_line;
    const int64_t behind = std::min(rows_of_line, first + end - row);
    for (int64_t i = first; i < behind; ++i, ++row) {
      const int64_t part = line_[static_cast<size_t>(i)];
      if (around == kOutside || part == kOutside) {
        std::fill_n(dst + row * size, size, value);
      } else {
        copy_row(src + around + part, value, dst + row * size);
      }
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
