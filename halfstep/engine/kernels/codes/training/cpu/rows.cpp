#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/training/cpu/rows.cpp"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"

#include <algorithm>

#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/training/cpu/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {

int64_t lanes() { return static_cast<int64_t>(hn::Lanes(Ints())); }

/// Values that the elements of a row share.
template <class Lanes, class Code>
struct RowLanes {
  Lanes code_of;
  IntVec bias, shown_bias, low, high;

  RowLanes(const Lanes& lanes, IntVec of_bias, IntVec of_shown_bias, const arith::Clamp& clamp)
      : code_of(lanes),
        bias(of_bias),
        shown_bias(of_shown_bias),
        low(hn::Set(Ints(), clamp.low)),
        high(hn::Set(Ints(), clamp.high)) {}

  void operator()(const int32_t* sums, int32_t* acc, bool stream, Code* codes) const {
    const Ints d;
    const hn::Rebind<Code, Ints> narrow;
    const IntVec sum = hn::LoadU(d, sums) + bias;
    if (acc != nullptr) put(sum + shown_bias, d, acc, stream);
    hn::StoreU(hn::DemoteTo(narrow, hn::Min(hn::Max(code_of(sum), low), high)), narrow, codes);
  }
};

template <class Code, class Lanes>
void requantize_by(const RequantizeRow& row, const Lanes& of) {
  const RowLanes<Lanes, Code> requantize(of, hn::Set(Ints(), row.step.bias), hn::Set(Ints(), row.step.shown_bias),
                                         row.clamp);
  const int32_t* sums_of_row = row.sums;
  int32_t* acc = row.acc;
  auto* codes = static_cast<Code*>(row.codes);
  const bool stream = may_stream(row.past_caches, acc);
  const int64_t size = row.size;
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes())
    requantize(sums_of_row + i, acc == nullptr ? nullptr : acc + i, stream, codes + i);
  if (i == size) return;
  constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
  int32_t sums[kMostLanes] = {};
  Code rest[kMostLanes];
  std::copy(sums_of_row + i, sums_of_row + size, sums);
  requantize(sums, sums, false, rest);
  std::copy_n(rest, size - i, codes + i);
  if (acc != nullptr) std::copy_n(sums, size - i, acc + i);
}

void requantize_row(DType codes, const RequantizeRow& row) {
  with_codes(codes, [&]<class Code>() {
    with_lanes(row.step.requantizer, row.zero_point, [&](const auto& lanes) { requantize_by<Code>(row, lanes); });
  });
}

/// Requantizes the channels of a tile in one vector, in rows [begin, end).
template <class Code>
void requantize_channels(const MatrixTile& tile, int64_t channel, int64_t begin, int64_t end) {
  constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
  const int64_t size = std::min(lanes(), tile.channels - channel);
  int32_t multiplier[kMostLanes] = {}, shift[kMostLanes] = {}, bias[kMostLanes] = {}, shown_bias[kMostLanes] = {};
  for (int64_t i = 0; i < size; ++i) {
    const Step& step = tile.steps[channel + i];
    const arith::Multiplier& factor = *codes::HWY_NAMESPACE::half_up(step.requantizer);
    multiplier[i] = factor.m;
    shift[i] = factor.shift - codes::HWY_NAMESPACE::kUpperHalf;
    bias[i] = step.bias;
    shown_bias[i] = step.shown_bias;
  }
  const Ints d;
  const codes::HWY_NAMESPACE::HalfUpChannels code_of(hn::LoadU(d, multiplier), hn::LoadU(d, shift), tile.zero_point);
  const RowLanes<codes::HWY_NAMESPACE::HalfUpChannels, Code> requantize(code_of, hn::LoadU(d, bias),
                                                                        hn::LoadU(d, shown_bias), tile.clamp);
  for (int64_t row = begin; row < end; ++row) {
    const int32_t* from = tile.sums + row * tile.channels + channel;
    int32_t* acc = tile.acc == nullptr ? nullptr : tile.acc + row * tile.stride + channel;
    Code* codes = static_cast<Code*>(tile.codes) + row * tile.stride + channel;
    if (size == lanes()) {
      requantize(from, acc, false, codes);
      continue;
    }
    int32_t sums[kMostLanes] = {};
    Code rest[kMostLanes];
    std::copy_n(from, size, sums);
    requantize(sums, sums, false, rest);
    std::copy_n(rest, size, codes);
    if (acc != nullptr) std::copy_n(sums, size, acc);
  }
}

bool requantize_matrix(DType codes, const MatrixTile& tile) {
  constexpr int64_t kRows = 64;  // rows that the first-level cache holds
  const bool half_up = std::all_of(tile.steps, tile.steps + tile.channels, [](const Step& step) {
    return codes::HWY_NAMESPACE::half_up(step.requantizer) != nullptr;
  });
  if (!half_up) return false;
  with_codes(codes, [&]<class Code>() {
    for (int64_t row = 0; row < tile.rows; row += kRows) {
      for (int64_t channel = 0; channel < tile.channels; channel += lanes())
        requantize_channels<Code>(tile, channel, row, std::min(tile.rows, row + kRows));
    }
  });
  return true;
}

template <class Word, class Lanes>
void requantize_products_by(const ProductRow& row, const Lanes& code_of) {
  const Ints d;
  const Floats floats;
  const CodeLanes<Word> out_lanes(row.out_type);
  const IntVec low = hn::Set(d, row.clamp.low), high = hn::Set(d, row.clamp.high);
  const FloatVec a_scale = hn::Set(floats, row.a_scale), b_scale = hn::Set(floats, row.b_scale);
  const auto at = [&](const int32_t* sums, Word* out, int32_t* unclamped, float* real) {
    const IntVec sum = hn::LoadU(d, sums), code = code_of(sum);
    out_lanes.store(hn::Min(hn::Max(code, low), high), out);
    if (unclamped == nullptr) return;
    hn::StoreU(code, d, unclamped);
    hn::StoreU(hn::ConvertTo(floats, sum) * a_scale * b_scale, floats, real);
  };
  auto* out = static_cast<Word*>(row.out);
  const bool all = row.unclamped != nullptr;
  int64_t i = 0;
  for (; i + lanes() <= row.size; i += lanes())
    at(row.sums + i, out + i, all ? row.unclamped + i : nullptr, all ? row.real + i : nullptr);
  if (i == row.size) return;
  constexpr int64_t kMostLanes = HWY_MAX_BYTES / 4;
  int32_t sums[kMostLanes] = {}, unclamped[kMostLanes];
  Word out_rest[kMostLanes];
  float real[kMostLanes];
  std::copy(row.sums + i, row.sums + row.size, sums);
  at(sums, out_rest, unclamped, real);
  std::copy_n(out_rest, row.size - i, out + i);
  if (!all) return;
  std::copy_n(unclamped, row.size - i, row.unclamped + i);
  std::copy_n(real, row.size - i, row.real + i);
}

void requantize_products(const ProductRow& row) {
  with_lanes(row.requantizer, row.zero_point, [&](const auto& lanes) {
    is_wide(row.out_type) ? requantize_products_by<uint16_t>(row, lanes) : requantize_products_by<uint8_t>(row, lanes);
  });
}

template <class Code>
void subtract_as(const Code* src, int64_t size, int32_t zero_point, float* dst) {
  const hn::Rebind<Code, Ints> narrow;
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes()) {
    const IntVec code = hn::PromoteTo(Ints(), hn::LoadU(narrow, src + i)) - hn::Set(Ints(), zero_point);
    hn::StoreU(hn::ConvertTo(Floats(), code), Floats(), dst + i);
  }
  for (; i < size; ++i) dst[i] = static_cast<float>(src[i] - zero_point);
}

void subtract(DType codes, const void* src, int64_t size, int32_t zero_point, float* dst) {
  if (codes == DType::u8) return subtract_as(static_cast<const uint8_t*>(src), size, zero_point, dst);
  subtract_as(static_cast<const int8_t*>(src), size, zero_point, dst);
}

template <class Code>
void split_as(const Code* src, int64_t size, int32_t zero_point, float* low, float* high) {
  const hn::Rebind<Code, Ints> narrow;
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes()) {
    const IntVec code = hn::PromoteTo(Ints(), hn::LoadU(narrow, src + i)) - hn::Set(Ints(), zero_point);
    hn::StoreU(hn::ConvertTo(Floats(), hn::And(code, hn::Set(Ints(), 255))), Floats(), low + i);
    hn::StoreU(hn::ConvertTo(Floats(), hn::ShiftRight<8>(code)), Floats(), high + i);
  }
  for (; i < size; ++i) {
    const int32_t code = src[i] - zero_point;
    low[i] = static_cast<float>(code & 255);
    high[i] = static_cast<float>(code >> 8);
  }
}

void split(DType codes, const void* src, int64_t size, int32_t zero_point, float* low, float* high) {
  if (codes == DType::u16) return split_as(static_cast<const uint16_t*>(src), size, zero_point, low, high);
  split_as(static_cast<const int16_t*>(src), size, zero_point, low, high);
}

void add_whole(const float* src, int64_t size, int shift, bool first, int32_t* dst) {
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes()) {
    const IntVec sum = hn::ShiftLeftSame(hn::ConvertTo(Ints(), hn::LoadU(Floats(), src + i)), shift);
    hn::StoreU(first ? sum : sum + hn::LoadU(Ints(), dst + i), Ints(), dst + i);
  }
  for (; i < size; ++i) {
    const uint32_t sum = static_cast<uint32_t>(static_cast<int32_t>(src[i])) << shift;
    dst[i] = static_cast<int32_t>(first ? sum : sum + static_cast<uint32_t>(dst[i]));
  }
}

/// Transposes squares of four by four in registers. Finishes whole cache lines of dst before the next columns, because
/// their lines may fall into the same cache sets.
void transpose(const void* from_rows, int64_t rows, int64_t columns, void* to_columns) {
  constexpr int64_t kLine = 16;
  const auto* src = static_cast<const int32_t*>(from_rows);
  auto* dst = static_cast<int32_t*>(to_columns);
  const hn::FixedTag<int32_t, 4> d;
  const hn::FixedTag<int64_t, 2> pairs;
  const auto halves = [&](auto a, auto b, int64_t to) {
    const auto left = hn::BitCast(pairs, a), right = hn::BitCast(pairs, b);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, left, right)), d, dst + to);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, left, right)), d, dst + to + rows);
  };
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  const auto square = [&](int64_t r, int64_t c) {
    const int32_t* from = src + r * columns + c;
    const auto v0 = hn::LoadU(d, from), v1 = hn::LoadU(d, from + columns);
    const auto v2 = hn::LoadU(d, from + 2 * columns), v3 = hn::LoadU(d, from + 3 * columns);
    halves(hn::InterleaveLower(d, v0, v1), hn::InterleaveLower(d, v2, v3), c * rows + r);
    halves(hn::InterleaveUpper(d, v0, v1), hn::InterleaveUpper(d, v2, v3), (c + 2) * rows + r);
  };
  for (int64_t line = 0; line < whole_rows; line += kLine) {
    for (int64_t c = 0; c < whole_columns; c += 4) {
      for (int64_t r = line; r < std::min(line + kLine, whole_rows); r += 4) square(r, c);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c)
      hwy::CopyBytes<sizeof(int32_t)>(src + r * columns + c, dst + c * rows + r);
  }
}

using Bytes = hn::FixedTag<uint8_t, 16>;

/// Transposes a square of 16 by 16. Each round rotates the eight bits of both indices by one.
void transpose_square(const uint8_t* src, int64_t src_step, uint8_t* dst, int64_t dst_step) {
  const Bytes d;
  hn::Vec<Bytes> a[16], b[16];
  for (int k = 0; k < 16; ++k) a[k] = hn::LoadU(d, src + k * src_step);
  const auto round = [&](const hn::Vec<Bytes>* from, hn::Vec<Bytes>* to) {
    for (int k = 0; k < 8; ++k) {
      to[2 * k] = hn::InterleaveLower(d, from[k], from[k + 8]);
      to[2 * k + 1] = hn::InterleaveUpper(d, from[k], from[k + 8]);
    }
  };
  round(a, b);
  round(b, a);
  round(a, b);
  round(b, a);
  for (int k = 0; k < 16; ++k) hn::StoreU(a[k], d, dst + k * dst_step);
}

void transpose_bytes(const uint8_t* src, int64_t rows, int64_t columns, uint8_t* dst) {
  const int64_t whole_rows = rows / 16 * 16, whole_columns = columns / 16 * 16;
  for (int64_t r = 0; r < whole_rows; r += 16) {
    for (int64_t c = 0; c < whole_columns; c += 16)
      transpose_square(src + r * columns + c, columns, dst + c * rows + r, rows);
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) dst[c * rows + r] = src[r * columns + c];
  }
}

void to_channels_last(const PlanesRow& row) {
  const int64_t pixels = row.height * row.width;
  alignas(64) uint8_t square[256];
  for (int64_t c = 0; c < row.channels; c += 16) {
    const uint8_t* planes = row.src + c * pixels;
    int64_t x = 0, y = 0;
    for (int64_t begin = 0; begin < pixels; begin += 16) {
      const int64_t size = std::min<int64_t>(16, pixels - begin);
      if (size == 16) {
        transpose_square(planes + begin, pixels, square, 16);
      } else {
        for (int64_t i = 0; i < 16 * size; ++i) square[i] = planes[i % 16 * pixels + begin + i / 16];
      }
      for (int64_t i = 0; i < size; ++i) {
        std::copy_n(square + 16 * i, 16, row.dst + (y * row.line + x) * row.channels + c);
        if (++x < row.width) continue;
        x = 0;
        ++y;
      }
    }
  }
}

void widen(const int32_t* numbers, int64_t size, int32_t bias, int32_t& low, int32_t& high) {
  const Ints d;
  IntVec least = hn::Set(d, low), largest = hn::Set(d, high);
  int64_t i = 0;
  for (; i + lanes() <= size; i += lanes()) {
    const IntVec number = hn::LoadU(d, numbers + i) + hn::Set(d, bias);
    least = hn::Min(least, number);
    largest = hn::Max(largest, number);
  }
  low = hn::GetLane(hn::MinOfLanes(d, least));
  high = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < size; ++i) {
    const auto number = static_cast<int32_t>(static_cast<uint32_t>(numbers[i]) + static_cast<uint32_t>(bias));
    low = std::min(low, number);
    high = std::max(high, number);
  }
}

void widen_each(const int32_t* numbers, int64_t count, int32_t* low, int32_t* high) {
  const Ints d;
  int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) {
    const IntVec number = hn::LoadU(d, numbers + i);
    hn::StoreU(hn::Min(hn::LoadU(d, low + i), number), d, low + i);
    hn::StoreU(hn::Max(hn::LoadU(d, high + i), number), d, high + i);
  }
  for (; i < count; ++i) {
    low[i] = std::min(low[i], numbers[i]);
    high[i] = std::max(high[i], numbers[i]);
  }
}

const RowFunctions& functions() {
  static constexpr RowFunctions all = {requantize_row, requantize_matrix, requantize_products, subtract,         split,
                                       add_whole,      transpose,         transpose_bytes,     to_channels_last, widen,
                                       widen_each};
  return all;
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::training {
const RowFunctions& row_functions(CpuLevel level) { return HS_SIMD_CHOOSE(level, functions)(); }

}  // namespace halfstep::kernels::training
#endif
