// Products of two values of codes of one byte, with the micro-kernels of layers: rows of a are the pixels, and b, which
// every call arranges as weights are, has a channel in each column. Zero points leave int16 codes while they are
// arranged. Bytes keep them: a' is a as u8 and b' is b as i8, and with their zero points
// sum (a' - a0) * (b' - b0) = sum a' * b' - b0 * sum a' + (depth * a0 * b0 - a0 * sum b'), modulo 2^32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/codes/integer/cpu/matmul.cpp"
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "halfstep/base/divide.h"
#include "halfstep/kernels/codes/contraction.h"
#include "halfstep/kernels/codes/integer/cpu/nhwc_tiling.h"
#include "halfstep/kernels/common/simd/dispatch.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/codes/integer/cpu/products-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_MATMUL
#define HALFSTEP_KERNELS_INTEGER_MATMUL
namespace halfstep::kernels::integer {

/// An operand as it is multiplied.
struct Factor {
  int64_t zero_point = 0;  ///< of bytes with their highest bit flipped, where it is
  uint8_t flip = 0;
};

/// Columns of b that one vector has, as words of four bytes: [word][column].
struct ByteColumns {
  const uint8_t* from;     ///< of the first column
  int64_t depth, columns;  ///< up to kLanes
  int64_t along, across;   ///< from one element of a column, and from one column, to the next
  uint8_t flip;
};

}  // namespace halfstep::kernels::integer
#endif

#if HWY_TARGET == HWY_AVX3  // VNNI comes with it
HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

/// The first `count` bytes with `flip`, and zeros.
template <class D>
HWY_INLINE hn::Vec<D> load_flipped(D d, const uint8_t* from, int64_t count, uint8_t flip) {
  const auto some = hn::FirstN(d, static_cast<size_t>(count));
  return hn::IfThenElseZero(some, hn::Xor(hn::MaskedLoad(some, d, from), hn::Set(d, flip)));
}

/// A row with `flip`; its sum.
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

/// Four rows of up to 16 columns as a word for each column; `rows` of them are there.
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

/// Where the elements of a column are neighbours: a word of each column at a time.
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

/// All words; what b' adds up to in each column.
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

/// To each of `rows` rows of sums its term.
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
namespace halfstep::kernels {
namespace integer {
namespace {

/// Codes of a byte lie at most so far from a zero point that is one.
constexpr int64_t kFarthest = 383;
/// Rows of a piece, at most.
constexpr int64_t kRowBlock = 48;

struct MatmulState {
  template <class Typed>
  MatmulState(const Problem& problem, const Typed& attributes);

  int64_t words() const { return ceil_div(product.depth * code_bytes, int64_t{4}); }
  int64_t vectors() const { return ceil_div(product.columns, kLanes); }
  int64_t vector_bytes() const { return words() * kLanes * 4; }
  /// Of an arranged operand b: its vectors, then a bias for each column.
  int64_t b_bytes() const { return vectors() * (vector_bytes() + kLanes * 4); }
  int64_t blocks() const { return ceil_div(product.rows, rows); }

  Contraction product;
  bool are_bytes;  ///< multiplied as bytes
  int64_t code_bytes;
  Factor a, b;
  NhwcEngine engine;
  int64_t rows, tile_rows;  ///< of a piece, of a tile; at most
  CodeRange range;
  LaneSteps lane_steps[2] = {};  ///< the same twice
  ToCodes to_codes;
  bool is_wide_out;
};

Factor factor_of(DType type, int64_t zero_point, bool are_bytes, bool is_first) {
  if (!are_bytes || (type == DType::u8) == is_first) return {zero_point, 0};
  return {zero_point + (is_first ? 128 : -128), 0x80};
}

template <class Typed>
MatmulState::MatmulState(const Problem& problem, const Typed& attributes)
    : product(Contraction::of(attributes, problem)),
      are_bytes(has_byte_words(problem.level)),
      code_bytes(are_bytes ? 1 : 2),
      a(factor_of(problem.in[0]->dtype, attributes.a_zero_point, are_bytes, true)),
      b(factor_of(problem.in[1]->dtype, attributes.b_zero_point, are_bytes, false)),
      engine(word_engine(problem.level, are_bytes)),
      rows(ceil_div(product.rows, ceil_div(product.rows, kRowBlock))),
      tile_rows(ceil_div(rows, ceil_div(rows, engine.tile_pixels))),
      range(range_of(attributes, problem.out[0]->dtype)),
      is_wide_out(is_wide(problem.out[0]->dtype)) {
  const arith::ShiftRounding rounding = shift_rounding(attributes);
  const arith::Requantizer scale = stored_scale(attributes.multiplier, attributes.shift, rounding);
  for (LaneSteps& steps : lane_steps) {
    for (int64_t lane = 0; lane < kLanes; ++lane) steps.set(lane, 0, scale);
  }
  const CodesOfForm codes = choose_codes(problem.level, arith::Requantization::fixed_point, rounding, is_wide_out);
  to_codes = lane_steps[0].is_general ? codes.general : codes.plain;
}

template <class Typed>
Verdict accept_matmul(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  const Typed a(problem.attributes);
  for (const int port : {Typed::in::a, Typed::in::b}) {
    if (is_wide(problem.in[port]->dtype)) return refuse("it reads codes of 16 bits");
  }
  for (const int64_t zero_point : {a.a_zero_point, a.b_zero_point}) {
    if (zero_point < -128 || zero_point > 255) return refuse("the zero point {} is no code of a byte", zero_point);
  }
  const int64_t depth = Contraction::of(a, problem).depth;
  if (depth > arith::kMostInInt32 / (kFarthest * kFarthest)) return refuse("{} products pass 32 bits", depth);
  return accept_zero_point(a.y_zero_point, problem.out[0]->dtype);
}

template <class Typed>
Plan prepare_matmul(const Problem& problem) {
  const auto state = std::make_shared<MatmulState>(problem, Typed(problem.attributes));
  const Contraction& p = state->product;
  return {.state = state,
          .scratch = static_cast<size_t>(p.batches * state->b_bytes()),
          .worker_scratch = static_cast<size_t>(state->rows * (state->words() + 1) * 4),
          .phases = {p.batches, p.batches * state->blocks()}};
}

void pack_b_bytes(const MatmulState& state, const uint8_t* b, std::byte* packed) {
  const Contraction& p = state.product;
  auto* bias = reinterpret_cast<uint32_t*>(packed + state.vectors() * state.vector_bytes());
  const auto a0 = static_cast<uint32_t>(state.a.zero_point), b0 = static_cast<uint32_t>(state.b.zero_point);
  for (int64_t v = 0; v < state.vectors(); ++v, bias += kLanes) {
    const int64_t first = v * kLanes;
    const ByteColumns columns{.from = b + first * (p.transpose_b ? p.b.step() : 1),
                              .depth = p.depth,
                              .columns = std::min(kLanes, p.columns - first),
                              .along = p.transpose_b ? 1 : p.b.step(),
                              .across = p.transpose_b ? p.b.step() : 1,
                              .flip = state.b.flip};
    int32_t sums[kLanes];
    N_AVX3::pack_vector(columns, reinterpret_cast<uint8_t*>(packed + v * state.vector_bytes()), sums);
    for (int64_t lane = 0; lane < kLanes; ++lane)
      bias[lane] = a0 * (static_cast<uint32_t>(p.depth) * b0 - static_cast<uint32_t>(sums[lane]));
  }
}

template <class Code>
void pack_b_shorts(const MatmulState& state, const Code* b, std::byte* packed) {
  const Contraction& p = state.product;
  std::memset(packed, 0, static_cast<size_t>(state.b_bytes()));
  const auto zero_point = static_cast<int16_t>(state.b.zero_point);
  const int64_t along = p.transpose_b ? 1 : p.b.step(), across = p.transpose_b ? p.b.step() : 1;
  for (int64_t k = 0; k < p.depth; ++k) {
    for (int64_t first = 0; first < p.columns; first += kLanes) {
      auto* to =
          reinterpret_cast<int16_t*>(packed + first / kLanes * state.vector_bytes()) + k / 2 * kLanes * 2 + k % 2;
      const Code* from = b + k * along + first * across;
      for (int64_t lane = 0; lane < std::min(kLanes, p.columns - first); ++lane)
        to[2 * lane] = static_cast<int16_t>(from[lane * across] - zero_point);
    }
  }
}

/// Rows of a, and behind them what the zero point of b adds to each.
void pack_a_bytes(const MatmulState& state, const uint8_t* a, int64_t first_row, int64_t rows, std::byte* packed) {
  const Contraction& p = state.product;
  auto* terms = reinterpret_cast<uint32_t*>(packed + state.rows * state.words() * 4);
  auto* to = reinterpret_cast<uint8_t*>(packed);
  for (int64_t row = first_row; row < first_row + rows; ++row, to += state.words() * 4) {
    int64_t sum = 0;
    if (p.transpose_a) {
      for (int64_t k = 0; k < p.depth; ++k) {
        to[k] = a[k * p.a.step() + row] ^ state.a.flip;
        sum += to[k];
      }
    } else {
      sum = N_AVX3::pack_row(a + row * p.a.step(), p.depth, state.a.flip, to);
    }
    std::fill(to + p.depth, to + state.words() * 4, uint8_t{0});
    *terms++ = static_cast<uint32_t>(-state.b.zero_point * sum);
  }
}

template <class Code>
void pack_a_shorts(const MatmulState& state, const Code* a, int64_t first_row, int64_t rows, std::byte* packed) {
  const Contraction& p = state.product;
  const auto zero_point = static_cast<int16_t>(state.a.zero_point);
  auto* to = reinterpret_cast<int16_t*>(packed);
  for (int64_t row = 0; row < rows; ++row, to += 2 * state.words()) {
    const Code* from = a + (first_row + row) * (p.transpose_a ? 1 : p.a.step());
    const int64_t step = p.transpose_a ? p.a.step() : 1;
    for (int64_t k = 0; k < p.depth; ++k) to[k] = static_cast<int16_t>(from[k * step] - zero_point);
    if (p.depth % 2 != 0) to[p.depth] = 0;
  }
}

/// `rows` rows of the result, of arranged operands.
void multiply(const MatmulState& state, const std::byte* a, const std::byte* b, int64_t rows, std::byte* out) {
  alignas(64) int32_t sums[(kTilePixels + kRowsBehind) * kBlockOutputs];
  const Contraction& p = state.product;
  const int64_t run = 0, vectors = state.vectors(), step = state.words() * 4, code_bytes = state.is_wide_out ? 2 : 1;
  const auto* terms = reinterpret_cast<const int32_t*>(a + state.rows * step);
  for (int64_t v = 0; v < vectors; v += 2) {
    NhwcTile tile{.bias = reinterpret_cast<const int32_t*>(b + vectors * state.vector_bytes()) + v * kLanes,
                  .bias_step = kLanes,
                  .weights = b + v * state.vector_bytes(),
                  .runs = &run,
                  .run_count = 1,
                  .steps = 1,
                  .chunk = step,
                  .pixel_step = step,
                  .tiles = 1,
                  .pixels = std::min(rows, state.tile_rows),
                  .vectors = std::min<int64_t>(2, vectors - v),
                  .acc = sums};
    for (int64_t next = 0; next < rows; next += tile.pixels) {
      const int64_t row = std::min(next, rows - tile.pixels);
      tile.x[0] = a + row * step;
      state.engine.tile(tile);
      if (state.are_bytes && state.b.zero_point != 0) N_AVX3::add_terms(terms + row, tile.pixels, sums);
      state.to_codes(state.range, {.acc = sums,
                                   .steps = state.lane_steps,
                                   .dst = out + (row * p.out.step() + v * kLanes) * code_bytes,
                                   .step = p.out.step(),
                                   .pixels = tile.pixels,
                                   .channels = std::min(kBlockOutputs, p.columns - v * kLanes)});
    }
  }
}

Status run_matmul(const Call& call, int phase, int64_t piece) {
  using In = IntegerMatmul::in;
  const auto& state = state_of<MatmulState>(call);
  const Contraction& p = state.product;
  if (phase == 0) {
    std::byte* packed = call.scratch + piece * state.b_bytes();
    visit_codes(call.in[In::b], [&]<class Code>(const Code* b) {
      b += p.b.begin(piece);
      state.are_bytes ? pack_b_bytes(state, reinterpret_cast<const uint8_t*>(b), packed)
                      : pack_b_shorts(state, b, packed);
    });
    return {};
  }
  const int64_t batch = piece / state.blocks(), first = piece % state.blocks() * state.rows;
  const int64_t rows = std::min(state.rows, p.rows - first);
  visit_codes(call.in[In::a], [&]<class Code>(const Code* a) {
    a += p.a.begin(batch);
    state.are_bytes ? pack_a_bytes(state, reinterpret_cast<const uint8_t*>(a), first, rows, call.worker_scratch)
                    : pack_a_shorts(state, a, first, rows, call.worker_scratch);
  });
  multiply(state, call.worker_scratch, call.scratch + batch * state.b_bytes(), rows,
           static_cast<std::byte*>(element_of(call.out[0], p.out_place(batch * p.rows + first))));
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_matmul_tiles{"tiles", integer::accept_matmul<IntegerMatmul>,
                                             integer::prepare_matmul<IntegerMatmul>, integer::run_matmul};
extern const Kernel cpu_fused_integer_matmul_tiles{"tiles", integer::accept_matmul<FusedIntegerMatmul>,
                                                   integer::prepare_matmul<FusedIntegerMatmul>, integer::run_matmul};

}  // namespace halfstep::kernels
#endif
