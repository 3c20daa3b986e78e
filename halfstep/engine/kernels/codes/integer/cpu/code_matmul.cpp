#include "halfstep/engine/kernels/codes/integer/cpu/code_matmul.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/code_matmul.cpp"
#include <cstring>

#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/integer/cpu/products-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_CODE_MATMUL
#define HALFSTEP_KERNELS_INTEGER_CODE_MATMUL
namespace halfstep::kernels::integer {

/// Columns of b in one vector, as words of four bytes: [word][column].
struct ByteColumns {
  const uint8_t* from;     ///< first column
  int64_t depth, columns;  ///< columns: up to kLanes
  int64_t along, across;   ///< distance of the elements of a column, and of columns
  uint8_t flip;
};

}  // namespace halfstep::kernels::integer
#endif

#if HWY_TARGET == HWY_AVX3  // VNNI is always present with it
HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

/// The first `count` bytes xor `flip`, followed by zeros.
template <class D>
HWY_INLINE hn::Vec<D> load_flipped(D d, const uint8_t* from, int64_t count, uint8_t flip) {
  const auto some = hn::FirstN(d, static_cast<size_t>(count));
  return hn::IfThenElseZero(some, hn::Xor(hn::MaskedLoad(some, d, from), hn::Set(d, flip)));
}

/// Packs a row, each byte xor `flip`. Returns the sum.
int64_t pack_row(const uint8_t* from, int64_t depth, uint8_t flip, uint8_t* to) {
  const Bytes d;
  const hn::Repartition<uint64_t, Bytes> sums_type;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  auto sums = hn::Zero(sums_type);
  for (int64_t k = 0; k < depth; k += step) {
    const int64_t count = std::min(step, depth - k);
    const auto codes = load_flipped(d, from + k, count, flip);
    hn::BlendedStore(codes, hn::FirstN(d, static_cast<size_t>(count)), d, to + k);
    sums = hn::Add(sums, hn::SumsOf8(codes));
  }
  return static_cast<int64_t>(hn::GetLane(hn::SumOfLanes(sums_type, sums)));
}

/// Packs four rows of up to 16 columns as one word for each column. Only `rows` rows exist.
HWY_INLINE void pack_word(const ByteColumns& b, int64_t k, int64_t rows, uint8_t* to) {
  const hn::FixedTag<uint8_t, 16> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const auto row = [&](int64_t r) {
    return r < rows ? load_flipped(d, b.from + (k + r) * b.along, b.columns, b.flip) : hn::Zero(d);
  };
  const auto r0 = row(0), r1 = row(1), r2 = row(2), r3 = row(3);
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, to + 16);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, to + 32);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, to + 48);
}

/// Packs columns with contiguous elements, one word of each column at a time.
HWY_INLINE void pack_columns(const ByteColumns& b, uint8_t* to) {
  const Ints d;
  const auto some = hn::FirstN(d, static_cast<size_t>(b.columns));
  const IntVec flips = hn::Set(d, static_cast<int32_t>(b.flip * 0x01010101U));
  const IntVec columns = hn::IfThenElseZero(some, hn::Iota(d, 0) * hn::Set(d, static_cast<int32_t>(b.across)));
  int64_t k = 0;
  for (; k + 4 <= b.depth; k += 4) {
    const IntVec words = hn::GatherOffset(d, reinterpret_cast<const int32_t*>(b.from + k), columns);
    hn::StoreU(hn::IfThenElseZero(some, hn::Xor(words, flips)), d, reinterpret_cast<int32_t*>(to + k * kLanes));
  }
  if (k == b.depth) return;
  std::fill_n(to + k * kLanes, kLanes * 4, uint8_t{0});
  for (int64_t column = 0; column < b.columns; ++column) {
    for (int64_t i = k; i < b.depth; ++i) to[k * kLanes + column * 4 + i - k] = b.from[column * b.across + i] ^ b.flip;
  }
}

/// Packs all words. Writes the sum of b' in each column to `sums`.
void pack_vector(const ByteColumns& b, uint8_t* to, int32_t* sums) {
  const int64_t words = ceil_div(b.depth, int64_t{4});
  if (b.along == 1) {
    pack_columns(b, to);
  } else {
    for (int64_t w = 0; w < words; ++w) pack_word(b, 4 * w, std::min<int64_t>(4, b.depth - 4 * w), to + w * kLanes * 4);
  }
  const Ints d;
  IntVec sum = hn::Zero(d);
  for (int64_t w = 0; w < words; ++w)
    sum = VnniProduct::add(sum, hn::Set(d, 0x01010101), hn::BitCast(d, hn::LoadU(Bytes(), to + w * kLanes * 4)));
  hn::StoreU(sum, d, sums);
}

/// Adds its term to each of `rows` rows of sums.
void add_terms(const int32_t* terms, int64_t rows, int32_t* sums) {
  const Ints d;
  const auto step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, sums += kBlockOutputs) {
    const auto term = hn::Set(d, terms[r]);
    for (int64_t i = 0; i < kBlockOutputs; i += step) hn::StoreU(hn::Add(hn::LoadU(d, sums + i), term), d, sums + i);
  }
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace halfstep::kernels::integer {
namespace {

/// Most rows of a block.
constexpr int64_t kRowBlock = 48;

}  // namespace

CodeMatmul::CodeMatmul(const Contraction& product, DType a, DType b, CpuLevel level)
    : product_(product),
      a_(a),
      b_(b),
      are_bytes_(has_byte_words(level)),
      code_bytes_(are_bytes_ ? 1 : 2),
      engine_(word_engine(level, are_bytes_)),
      rows_(ceil_div(product.rows, ceil_div(product.rows, kRowBlock))),
      tile_rows_(ceil_div(rows_, ceil_div(rows_, engine_.tile_pixels))) {}

CodeMatmul::Factor CodeMatmul::factor(DType type, int64_t zero_point, bool is_first) const {
  if (!are_bytes_ || (type == DType::u8) == is_first) return {zero_point, 0};
  return {zero_point + (is_first ? 128 : -128), 0x80};
}

void CodeMatmul::pack_b(const ZeroPoints& zero_points, const void* b, std::byte* packed) const {
  if (are_bytes_) return pack_b_bytes(zero_points, static_cast<const uint8_t*>(b), packed);
  with_codes(b_, [&]<class Code>() { pack_b_shorts(zero_points.b, static_cast<const Code*>(b), packed); });
}

void CodeMatmul::pack_a(const ZeroPoints& zero_points, const void* a, int64_t block, std::byte* packed) const {
  if (are_bytes_) return pack_a_bytes(zero_points, static_cast<const uint8_t*>(a), block, packed);
  with_codes(a_, [&]<class Code>() { pack_a_shorts(zero_points.a, static_cast<const Code*>(a), block, packed); });
}

void CodeMatmul::pack_b_bytes(const ZeroPoints& zero_points, const uint8_t* b, std::byte* packed) const {
  const Contraction& p = product_;
  const Factor of_a = factor(a_, zero_points.a, true), of_b = factor(b_, zero_points.b, false);
  auto* bias = reinterpret_cast<uint32_t*>(packed + vectors() * vector_bytes());
  const auto a0 = static_cast<uint32_t>(of_a.zero_point), b0 = static_cast<uint32_t>(of_b.zero_point);
  for (int64_t v = 0; v < vectors(); ++v, bias += kLanes) {
    const int64_t first = v * kLanes;
    const ByteColumns columns{.from = b + first * (p.transpose_b ? p.b.step() : 1),
                              .depth = p.depth,
                              .columns = std::min(kLanes, p.columns - first),
                              .along = p.transpose_b ? 1 : p.b.step(),
                              .across = p.transpose_b ? p.b.step() : 1,
                              .flip = of_b.flip};
    int32_t sums[kLanes];
    N_AVX3::pack_vector(columns, reinterpret_cast<uint8_t*>(packed + v * vector_bytes()), sums);
    for (int64_t lane = 0; lane < kLanes; ++lane)
      bias[lane] = a0 * (static_cast<uint32_t>(p.depth) * b0 - static_cast<uint32_t>(sums[lane]));
  }
}

template <class Code>
void CodeMatmul::pack_b_shorts(int64_t zero_point, const Code* b, std::byte* packed) const {
  const Contraction& p = product_;
  std::memset(packed, 0, static_cast<size_t>(b_bytes()));
  const int64_t along = p.transpose_b ? 1 : p.b.step(), across = p.transpose_b ? p.b.step() : 1;
  for (int64_t k = 0; k < p.depth; ++k) {
    for (int64_t first = 0; first < p.columns; first += kLanes) {
      auto* to = reinterpret_cast<int16_t*>(packed + first / kLanes * vector_bytes()) + k / 2 * kLanes * 2 + k % 2;
      const Code* from = b + k * along + first * across;
      for (int64_t lane = 0; lane < std::min(kLanes, p.columns - first); ++lane)
        to[2 * lane] = static_cast<int16_t>(from[lane * across] - static_cast<int16_t>(zero_point));
    }
  }
}

/// Packs rows of a, followed by the term that the zero point of b adds to each row.
void CodeMatmul::pack_a_bytes(const ZeroPoints& zero_points, const uint8_t* a, int64_t block, std::byte* packed) const {
  const Contraction& p = product_;
  const uint8_t flip = factor(a_, zero_points.a, true).flip;
  const int64_t b0 = factor(b_, zero_points.b, false).zero_point, first = first_row(block);
  auto* terms = reinterpret_cast<uint32_t*>(packed + rows_ * words() * 4);
  auto* to = reinterpret_cast<uint8_t*>(packed);
  for (int64_t row = first; row < first + rows(block); ++row, to += words() * 4) {
    int64_t sum = 0;
    if (p.transpose_a) {
      for (int64_t k = 0; k < p.depth; ++k) {
        to[k] = a[k * p.a.step() + row] ^ flip;
        sum += to[k];
      }
    } else {
      sum = N_AVX3::pack_row(a + row * p.a.step(), p.depth, flip, to);
    }
    std::fill(to + p.depth, to + words() * 4, uint8_t{0});
    *terms++ = static_cast<uint32_t>(-b0 * sum);
  }
}

template <class Code>
void CodeMatmul::pack_a_shorts(int64_t zero_point, const Code* a, int64_t block, std::byte* packed) const {
  const Contraction& p = product_;
  auto* to = reinterpret_cast<int16_t*>(packed);
  for (int64_t row = 0; row < rows(block); ++row, to += 2 * words()) {
    const Code* from = a + (first_row(block) + row) * (p.transpose_a ? 1 : p.a.step());
    const int64_t step = p.transpose_a ? p.a.step() : 1;
    for (int64_t k = 0; k < p.depth; ++k)
      to[k] = static_cast<int16_t>(from[k * step] - static_cast<int16_t>(zero_point));
    if (p.depth % 2 != 0) to[p.depth] = 0;
  }
}

void CodeMatmul::add_up(const ZeroPoints& zero_points, const std::byte* a, const std::byte* b, int64_t row,
                        int64_t rows, int64_t vector, int32_t* sums) const {
  const int64_t run = 0, step = words() * 4;
  NhwcTile tile{.bias = reinterpret_cast<const int32_t*>(b + vectors() * vector_bytes()) + vector * kLanes,
                .bias_step = kLanes,
                .weights = b + vector * vector_bytes(),
                .runs = &run,
                .run_count = 1,
                .steps = 1,
                .chunk = step,
                .pixel_step = step,
                .tiles = 1,
                .pixels = rows,
                .vectors = std::min<int64_t>(2, vectors() - vector),
                .acc = sums};
  tile.x[0] = a + row * step;
  engine_.tile(tile);
  if (!are_bytes_ || factor(b_, zero_points.b, false).zero_point == 0) return;
  N_AVX3::add_terms(reinterpret_cast<const int32_t*>(a + rows_ * step) + row, rows, sums);
}

}  // namespace halfstep::kernels::integer
#endif
