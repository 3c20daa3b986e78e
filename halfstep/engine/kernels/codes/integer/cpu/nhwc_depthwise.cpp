// Depthwise convolutions of channels-last codes. Vertically neighbouring taps of a column become one word for each
// channel. The word is multiplied for every pixel that reads the column.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_layer.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/nhwc_depthwise.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/integer/cpu/products-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_NHWC_DEPTHWISE
#define HALFSTEP_KERNELS_INTEGER_NHWC_DEPTHWISE
namespace halfstep::kernels::integer {

/// Vectors of sums for the channels of a block.
inline constexpr int64_t kSumVectors = 4;

struct Depthwise;

/// A block's part of an image.
struct DepthwiseImage {
  const std::byte* x;    ///< the block's first channel
  const std::byte* end;  ///< end of the readable memory
  int64_t channels;
};

/// A block's part of a line of the result.
struct DepthwiseLine {
  const std::byte* weights = nullptr;
  const LaneSteps* steps;
  const std::byte* words;
  int64_t channels;
  std::byte* dst = nullptr;
};

struct DepthwiseEngine {
  using Line = void (*)(const Depthwise& state, const DepthwiseLine& line);

  int64_t block;  ///< channels of a block
  int64_t word;   ///< taps of a word
  /// Channel of a block in a lane of a vector of sums. The interleaving of taps determines it.
  int64_t (*channel_of)(int64_t vector, int64_t lane);
  /// Fills the words of the columns that out line `oy` and the lines together with it read: [column][word][channel].
  void (*fill_words)(const Depthwise& state, const DepthwiseImage& image, int64_t oy, std::byte* words);
  Line general_line, line;  ///< functions for general steps, and for the others
};

/// Approximate multiplications that make a piece worth its start.
constexpr int64_t kPieceWork = 1 << 19;
constexpr int64_t kFewPieces = 8;

struct Depthwise {
  Depthwise(const NhwcLayer& of, const DepthwiseEngine& chosen) : layer(of), g(layer.geometry), engine(chosen) {
    const int64_t work = g.out_image() * (g.taps() + 8);
    const int64_t wanted = g.n >= kFewPieces ? 1 : std::min(kFewPieces, work * g.n / kPieceWork + 1);
    lines = ceil_div(g.oh, wanted);
    together = g.kh % engine.word != 0 && g.stride[0] == 1 && g.dilation[0] == 1 ? 2 : 1;
    if (together == 2) lines += lines % 2;
  }

  int64_t blocks() const { return ceil_div(g.c, engine.block); }
  int64_t bands() const { return ceil_div(g.oh, lines); }
  int64_t column_words() const { return ceil_div(g.kh, engine.word); }
  int64_t width() const { return g.w + g.pad[1] + g.pad[3]; }
  int64_t word_bytes() const { return 4 * engine.block; }
  int64_t column_bytes() const { return column_words() * word_bytes(); }
  int64_t words_bytes() const { return width() * column_bytes(); }
  /// Bytes of the weights of one line. A packed block has weights [kx][word][channel] of each line that reads the same
  /// words, then the steps.
  int64_t weight_bytes() const { return g.kw * column_bytes(); }
  int64_t steps_offset() const { return together * weight_bytes(); }
  int64_t block_bytes() const {
    return steps_offset() + engine.block / kLanes * static_cast<int64_t>(sizeof(LaneSteps));
  }

  NhwcLayer layer;
  const ConvGeometry& g;
  DepthwiseEngine engine;
  int64_t lines;     ///< lines of a piece
  int64_t together;  ///< out lines that read the same words. The second line is one tap lower, if words have room
  Tensor packed;     ///< packed constant parameters
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

constexpr int64_t kDepthwiseBlock = kSumVectors * kIntLanes;
constexpr int64_t kSumBytes = 4 * kIntLanes;

/// Stores two vectors, interleaved by pairs of bytes within each 16-byte part.
template <class V>
HWY_INLINE void store_zipped(V a, V b, std::byte* to) {
  const auto first = hn::BitCast(Shorts(), a), second = hn::BitCast(Shorts(), b);
  hn::Store(hn::InterleaveLower(Shorts(), first, second), Shorts(), reinterpret_cast<int16_t*>(to));
  hn::Store(hn::InterleaveUpper(Shorts(), first, second), Shorts(), reinterpret_cast<int16_t*>(to + kSumBytes));
}

/// Words of two taps as int16, for codes of either size.
template <class ProductOfTwo>
struct PairWords {
  using Product = ProductOfTwo;

  static int64_t channel_of(int64_t vector, int64_t lane) {
    return vector / 2 * kShortLanes + lane / 4 * 8 + vector % 2 * 4 + lane % 4;
  }
  template <class Code>
  static HWY_INLINE void zip(const std::byte* const (&rows)[2], std::byte* words) {
    HS_UNROLL for (int64_t c = 0; c < kDepthwiseBlock; c += kShortLanes) {
      const auto first = load_shorts(reinterpret_cast<const Code*>(rows[0]) + c);
      store_zipped(first, load_shorts(reinterpret_cast<const Code*>(rows[1]) + c), words + 4 * c);
    }
  }
  static HWY_INLINE void store(const Codes<uint8_t>& codes, const IntVec (&steps)[kSumVectors], uint8_t* to) {
    hn::StoreU(codes.by_halves(steps), Bytes(), to);
  }
  static HWY_INLINE void store(const Codes<uint16_t>& codes, const IntVec (&steps)[kSumVectors], uint16_t* to) {
    hn::StoreU(codes.by_parts(steps), Words(), to);
    hn::StoreU(codes.by_parts(steps + 2), Words(), to + kShortLanes);
  }
};

#if HWY_TARGET == HWY_AVX3
/// Words of four one-byte taps.
struct ByteWords {
  using Product = VnniProduct;

  static int64_t channel_of(int64_t vector, int64_t lane) { return lane / 4 * 16 + vector * 4 + lane % 4; }
  template <class Code>
  static HWY_INLINE void zip(const std::byte* const (&rows)[4], std::byte* words) {
    const auto row = [&](int k) { return hn::LoadU(Bytes(), reinterpret_cast<const uint8_t*>(rows[k])); };
    const auto a = row(0), b = row(1), c = row(2), d = row(3);
    store_zipped(hn::InterleaveLower(Bytes(), a, b), hn::InterleaveLower(Bytes(), c, d), words);
    store_zipped(hn::InterleaveUpper(Bytes(), a, b), hn::InterleaveUpper(Bytes(), c, d), words + 2 * kSumBytes);
  }
  static HWY_INLINE void store(const Codes<uint8_t>& codes, const IntVec (&steps)[kSumVectors], uint8_t* to) {
    hn::StoreU(codes.by_parts(steps), Bytes(), to);
  }
};
#endif

/// Begins of a word's taps in a line, and the step to the next column.
template <int kTaps>
struct TapRows {
  const std::byte* at[kTaps];
  int64_t steps[kTaps];
};

/// Writes neighbouring columns of words. kChecked: codes that a load would read past the readable memory are copied
/// first.
template <class Words, class Code, bool kChecked, int kTaps>
HWY_INLINE std::byte* fill_columns(const DepthwiseImage& image, TapRows<kTaps> rows, int64_t columns,
                                   int64_t column_bytes, std::byte* to) {
  for (int64_t x = 0; x < columns; ++x, to += column_bytes) {
    if constexpr (kChecked) {
      constexpr auto kBytes = static_cast<int64_t>(sizeof(Code));
      alignas(64) Code rests[kTaps][kDepthwiseBlock] = {};
      const std::byte* at[kTaps];
      for (int k = 0; k < kTaps; ++k) {
        at[k] = rows.at[k];
        if (rows.steps[k] == 0 || at[k] + kDepthwiseBlock * kBytes <= image.end) continue;
        std::memcpy(rests[k], at[k], static_cast<size_t>(image.channels * kBytes));
        at[k] = reinterpret_cast<const std::byte*>(rests[k]);
      }
      Words::template zip<Code>(at, to);
    } else {
      Words::template zip<Code>(rows.at, to);
    }
    HS_UNROLL for (int k = 0; k < kTaps; ++k) rows.at[k] += rows.steps[k];
  }
  return to;
}

template <class Words, class Code>
void fill_words(const Depthwise& state, const DepthwiseImage& image, int64_t oy, std::byte* words) {
  constexpr int kTaps = Words::Product::kCodes;
  const ConvGeometry& g = state.g;
  const int64_t column = state.column_bytes(), pixel = g.c * static_cast<int64_t>(sizeof(Code));
  const int64_t last = g.kh + state.together - 2;
  alignas(64) Code padding[kDepthwiseBlock];
  std::fill_n(padding, kDepthwiseBlock, static_cast<Code>(state.layer.x_zero_point));
  TapRows<kTaps> beside{};
  std::fill_n(beside.at, kTaps, reinterpret_cast<const std::byte*>(padding));
  for (int64_t f = 0; f < state.column_words(); ++f, words += kSumVectors * kSumBytes) {
    TapRows<kTaps> rows = beside;
    bool is_checked = false;
    for (int k = 0; k < kTaps; ++k) {
      // After the last row weights are zero, so that any code is correct.
      const int64_t y = oy * g.stride[0] - g.pad[0] + std::min(kTaps * f + k, last) * g.dilation[0];
      if (y < 0 || y >= g.h) continue;
      rows.at[k] = image.x + y * g.w * pixel;
      rows.steps[k] = pixel;
      is_checked = is_checked || rows.at[k] + (g.w - 1) * pixel + sizeof(padding) > image.end;
    }
    std::byte* to = fill_columns<Words, Code, false>(image, beside, g.pad[1], column, words);
    to = is_checked ? fill_columns<Words, Code, true>(image, rows, g.w, column, to)
                    : fill_columns<Words, Code, false>(image, rows, g.w, column, to);
    fill_columns<Words, Code, false>(image, beside, g.pad[3], column, to);
  }
}

/// Computes a line of the result. kWords is the number of words of a pixel if registers can hold their weights and each
/// column has one word. Otherwise it is 0.
template <class Words, class Lanes, class Code, int kWords>
void compute_line(const Depthwise& state, const DepthwiseLine& line) {
  using Product = typename Words::Product;
  const ConvGeometry& g = state.g;
  const Ints d;
  const Codes<Code> codes(state.layer.range);
  Lanes lanes[kSumVectors];
  IntVec bias[kSumVectors], taps[kWords + 1][kSumVectors];
  HS_UNROLL for (int v = 0; v < kSumVectors; ++v) {
    const LaneSource source{line.steps, v};
    lanes[v].set(source, state.layer.range);
    bias[v] = source.load(source.at().bias);
  }
  const auto load = [&](const std::byte* from, int v)
                        HWY_ATTR { return hn::Load(d, reinterpret_cast<const int32_t*>(from + v * kSumBytes)); };
  HS_UNROLL for (int k = 0; k < kWords; ++k) {
    HS_UNROLL for (int v = 0; v < kSumVectors; ++v) taps[k][v] = load(line.weights + k * kSumVectors * kSumBytes, v);
  }
  const int64_t column = state.column_bytes(), tap_step = g.dilation[1] * column, pixel_step = g.stride[1] * column;
  const int64_t columns = kWords > 0 ? 0 : g.kw, pixels = g.ow, out_step = g.c, channels = line.channels;
  alignas(64) Code rest[kDepthwiseBlock];
  const std::byte* from = line.words;
  auto* dst = reinterpret_cast<Code*>(line.dst);
  for (int64_t ox = 0; ox < pixels; ++ox, dst += out_step, from += pixel_step) {
    IntVec acc[kSumVectors];
    HS_UNROLL for (int v = 0; v < kSumVectors; ++v) acc[v] = bias[v];
    HS_UNROLL for (int k = 0; k < kWords; ++k) {
      HS_UNROLL for (int v = 0; v < kSumVectors; ++v) acc[v] =
          Product::add(acc[v], load(from + k * tap_step, v), taps[k][v]);
    }
    const std::byte* weights = line.weights;
    for (int64_t kx = 0; kx < columns; ++kx) {
      const std::byte* word = from + kx * tap_step;
      for (const std::byte* end = word + column; word < end; word += kSumVectors * kSumBytes) {
        HS_UNROLL for (int v = 0; v < kSumVectors; ++v) acc[v] = Product::add(acc[v], load(word, v), load(weights, v));
        weights += kSumVectors * kSumBytes;
      }
    }
    HS_UNROLL for (int v = 0; v < kSumVectors; ++v) acc[v] = lanes[v].steps(acc[v]);
    if (channels == kDepthwiseBlock) {
      Words::store(codes, acc, dst);
      continue;
    }
    Words::store(codes, acc, rest);
    store_row<sizeof(rest)>(rest, channels * static_cast<int64_t>(sizeof(Code)), dst);
  }
}

template <class Words, class Lanes>
DepthwiseEngine::Line line_of(const NhwcLayer& layer) {
  if constexpr (Words::Product::kCodes == 4) {
    const ConvGeometry& g = layer.geometry;
    return g.kw == 3 && g.kh <= 4 ? compute_line<Words, Lanes, uint8_t, 3> : compute_line<Words, Lanes, uint8_t, 0>;
  } else {
    return layer.wide_out ? compute_line<Words, Lanes, uint16_t, 0> : compute_line<Words, Lanes, uint8_t, 0>;
  }
}

/// Words of four taps exist only for bytes.
template <class Words>
auto words_of(DType codes) {
  if constexpr (Words::Product::kCodes == 4) {
    return &fill_words<Words, uint8_t>;
  } else {
    return with_codes(codes, []<class Code>() { return &fill_words<Words, Code>; });
  }
}

template <class Words>
DepthwiseEngine depthwise_of(const NhwcLayer& layer) {
  const auto [general, plain] =
      lanes_of(layer.form.form, layer.form.rounding, [&]<class Lanes>() { return line_of<Words, Lanes>(layer); });
  return {.block = kDepthwiseBlock,
          .word = Words::Product::kCodes,
          .channel_of = Words::channel_of,
          .fill_words = words_of<Words>(layer.x_type),
          .general_line = general,
          .line = plain};
}

DepthwiseEngine depthwise_at([[maybe_unused]] CpuLevel level, const NhwcLayer& layer) {
#if HWY_TARGET == HWY_AVX3
  if (level >= CpuLevel::vnni) {
    const bool are_bytes = layer.are_bytes() && !layer.wide_out;
    return are_bytes ? depthwise_of<ByteWords>(layer) : depthwise_of<PairWords<VnniPairProduct>>(layer);
  }
#endif
  return depthwise_of<PairWords<PairProduct>>(layer);
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

using Op = IntegerConv2d;

Status pack(const Depthwise& state, const NhwcParameters& from, std::byte* memory) {
  if (Status status = from.steps.check(state.g.o); !status.ok()) return status;
  const ConvGeometry& g = state.g;
  const auto& [block_channels, word, channel_of, fill, general, plain] = state.engine;
  const int64_t lanes = block_channels / kSumVectors, code_bytes = 4 / word;
  std::memset(memory, 0, static_cast<size_t>(state.blocks() * state.block_bytes()));
  for (int64_t block = 0; block < state.blocks(); ++block, memory += state.block_bytes()) {
    auto* steps = reinterpret_cast<LaneSteps*>(memory + state.steps_offset());
    for (int64_t at = 0; at < block_channels; ++at) {
      const int64_t c = block * block_channels + channel_of(at / lanes, at % lanes);
      if (c >= g.c) continue;
      set_lane(state.layer, from, c, steps[at / kLanes], at % kLanes);
      for (int64_t tap = 0; tap < g.taps(); ++tap) {
        for (int64_t line = 0; line < state.together; ++line) {
          const int64_t row = tap / g.kw + line;
          const int16_t weight = from.weights[c * g.taps() + tap];
          std::memcpy(memory + line * state.weight_bytes() + tap % g.kw * state.column_bytes() +
                          row / word * state.word_bytes() + at * 4 + row % word * code_bytes,
                      &weight, static_cast<size_t>(code_bytes));  // the lower byte comes first
        }
      }
    }
    steps->is_general =
        std::any_of(steps, steps + block_channels / kLanes, [](const LaneSteps& s) { return s.is_general; });
  }
  return {};
}

Verdict accept_depthwise(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  const Dims& w = problem.in[Op::in::w]->dims;
  if (w[1] != 1 || w[0] != Op(problem.attributes).groups)
    return refuse(errors::kernel_is_for_other_sizes(
        fmt::format("groups with {} input and {} output channels", w[1], w[0] / Op(problem.attributes).groups),
        "one each"));
  return accept_layer(problem);
}

Plan prepare_depthwise(const Problem& problem) {
  const NhwcLayer layer(problem);
  auto state = std::make_shared<Depthwise>(layer, HS_SIMD_CHOOSE(problem.level, depthwise_at)(problem.level, layer));
  const ConvGeometry& g = state->g;
  Plan plan{.state = state,
            .worker_scratch = static_cast<size_t>(state->words_bytes()),
            .phases = {g.n * state->bands() * state->blocks()}};
  const Status status =
      pack_constant(problem, state->layer, state->blocks() * state->block_bytes(), state->packed, plan,
                    [&](const NhwcParameters& from, std::byte* memory) { return pack(*state, from, memory); });
  if (!status.ok()) fail(status.diagnostic());
  return plan;
}

Status run_depthwise(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<Depthwise>(call);
  const ConvGeometry& g = state.g;
  const bool packs = !state.packed.defined();
  if (packs && phase == 0)
    return pack(state, NhwcParameters::of(state.layer, [&](int i) { return call.in[i].data; }), call.scratch);
  const int64_t block = piece % state.blocks(), band = piece / state.blocks() % state.bands();
  const int64_t image = piece / state.blocks() / state.bands(), c = block * state.engine.block;
  const int64_t x_bytes = state.layer.wide_in ? 2 : 1, out_bytes = state.layer.wide_out ? 2 : 1;
  const std::byte* packed = (packs ? call.scratch : state.packed.raw()) + block * state.block_bytes();
  const auto* x = call.in[Op::in::x].as<const std::byte>();
  const DepthwiseImage from{.x = x + (image * g.x_image() + c) * x_bytes,
                            .end = x + g.n * g.x_image() * x_bytes,
                            .channels = std::min(state.engine.block, g.c - c)};
  DepthwiseLine line{.steps = reinterpret_cast<const LaneSteps*>(packed + state.steps_offset()),
                     .words = call.worker_scratch,
                     .channels = from.channels};
  const auto compute = line.steps->is_general ? state.engine.general_line : state.engine.line;
  auto* out = call.out[0].as<std::byte>() + (image * g.out_image() + c) * out_bytes;
  const int64_t end = std::min(g.oh, (band + 1) * state.lines);
  for (int64_t oy = band * state.lines; oy < end; oy += state.together) {
    state.engine.fill_words(state, from, oy, call.worker_scratch);
    for (int64_t i = 0; i < std::min(state.together, end - oy); ++i) {
      line.weights = packed + i * state.weight_bytes();
      line.dst = out + (oy + i) * g.ow * g.c * out_bytes;
      compute(state, line);
    }
  }
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_conv2d_depthwise{"depthwise", integer::accept_depthwise, integer::prepare_depthwise,
                                                 integer::run_depthwise};

}  // namespace halfstep::kernels
#endif
