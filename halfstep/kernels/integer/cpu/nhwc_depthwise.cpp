// Depthwise convolutions of codes with their channels last: taps of a column that lie below each other, four at a time,
// become a word for each channel, which vpdpbusd multiplies for every pixel that meets the column.
#include <algorithm>
#include <cstring>

#include "halfstep/base/divide.h"
#include "halfstep/kernels/integer/cpu/engine.h"
#include "halfstep/kernels/integer/cpu/nhwc_layer.h"

namespace halfstep::kernels {
namespace integer {
namespace {

using Op = ChannelsLastIntegerConv2d;

/// Channels of a block, as bytes fill a vector, in four vectors of sums. Interleaved bytes keep to their 16-byte parts:
/// vector v holds of each part p the channels 16 * p + 4 * v and the three behind it. Packing the codes puts them back.
constexpr int64_t kBlock = 64;
constexpr int64_t kVectors = 4;
constexpr int64_t channel_of(int64_t vector, int64_t lane) { return lane / 4 * 16 + vector * 4 + lane % 4; }

/// Multiplications, about, that make a piece worth its start.
constexpr int64_t kPieceWork = 1 << 19;
constexpr int64_t kFewPieces = 8;

struct Depthwise {
  explicit Depthwise(const Problem& problem) : layer(problem), g(layer.geometry) {
    const int64_t work = g.out_image() * (g.taps() + 8);
    const int64_t wanted = g.n >= kFewPieces ? 1 : std::min(kFewPieces, work * g.n / kPieceWork + 1);
    lines = ceil_div(g.oh, wanted);
    together = g.kh % 4 != 0 && g.stride[0] == 1 && g.dilation[0] == 1 ? 2 : 1;
    if (together == 2) lines += lines % 2;
  }

  int64_t blocks() const { return ceil_div(g.c, kBlock); }
  int64_t bands() const { return ceil_div(g.oh, lines); }
  int64_t fours() const { return (g.kh + 3) / 4; }  ///< of the taps of a column
  int64_t width() const { return g.w + g.pad[1] + g.pad[3]; }
  /// Words of the columns of a line, [column][four][vector], and lines of the zero point's codes.
  int64_t words_bytes() const { return width() * fours() * kVectors * 64; }
  /// A packed block has weights [kx][four][vector] of each line that reads the same words, then the steps of each
  /// vector; these are the bytes of the weights of one line.
  int64_t weight_bytes() const { return g.kw * fours() * kVectors * 64; }
  int64_t steps_offset() const { return together * weight_bytes(); }
  int64_t block_bytes() const { return steps_offset() + kVectors * static_cast<int64_t>(sizeof(LaneSteps)); }

  NhwcLayer layer;
  const ConvGeometry& g;
  int64_t lines;     ///< of a piece
  int64_t together;  ///< out lines that read the same words: the second one lies a tap lower, where words have room
  void (*line)(const Depthwise& state, const std::byte* weights, const LaneSteps* steps, const std::byte* words,
               int64_t channels, uint8_t* dst) = nullptr;
  Tensor packed;  ///< where the parameters are constant
};

Status pack(const Depthwise& state, const NhwcParameters& from, std::byte* memory) {
  if (Status status = from.steps.check(state.g.o); !status.ok()) return status;
  const ConvGeometry& g = state.g;
  std::memset(memory, 0, static_cast<size_t>(state.blocks() * state.block_bytes()));
  for (int64_t block = 0; block < state.blocks(); ++block, memory += state.block_bytes()) {
    auto* steps = reinterpret_cast<LaneSteps*>(memory + state.steps_offset());
    for (int64_t at = 0; at < kBlock; ++at) {
      const int64_t vector = at / kLanes, lane = at % kLanes, c = block * kBlock + channel_of(vector, lane);
      if (c >= g.c) continue;
      set_lane(state.layer, from, c, steps[vector], lane);
      for (int64_t tap = 0; tap < g.taps(); ++tap) {
        for (int64_t line = 0; line < state.together; ++line) {
          const int64_t row = tap / g.kw + line, four = tap % g.kw * state.fours() + row / 4;
          memory[line * state.weight_bytes() + (four * kVectors + vector) * 64 + lane * 4 + row % 4] =
              static_cast<std::byte>(from.weights[c * g.taps() + tap]);
        }
      }
    }
  }
  return {};
}

/// Four rows of 64 codes as words.
HS_LANES inline void interleave(const __m512i (&rows)[4], std::byte* words) {
  const __m512i low01 = _mm512_unpacklo_epi8(rows[0], rows[1]), high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
  const __m512i low23 = _mm512_unpacklo_epi8(rows[2], rows[3]), high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
  _mm512_store_si512(words, _mm512_unpacklo_epi16(low01, low23));
  _mm512_store_si512(words + 64, _mm512_unpackhi_epi16(low01, low23));
  _mm512_store_si512(words + 128, _mm512_unpacklo_epi16(high01, high23));
  _mm512_store_si512(words + 192, _mm512_unpackhi_epi16(high01, high23));
}

__mmask64 first(int64_t channels) { return channels >= kBlock ? ~__mmask64{0} : (__mmask64{1} << channels) - 1; }

/// The words of what out line `oy` and those together with it read of an image, from a block's first channel on.
HS_LANES void fill_words(const Depthwise& state, const uint8_t* image, int64_t oy, int64_t channels, std::byte* words) {
  const ConvGeometry& g = state.g;
  const __mmask64 inside = first(channels);
  const __m512i padding = _mm512_set1_epi8(static_cast<char>(state.layer.x_zero_point));
  const int64_t column = state.fours() * kVectors * 64;
  const int64_t last = g.kh + state.together - 2;
  const __m512i beside[4] = {padding, padding, padding, padding};
  for (int64_t f = 0; f < state.fours(); ++f, words += kVectors * 64) {
    const uint8_t* lines[4];
    bool lies_inside[4];
    for (int64_t k = 0; k < 4; ++k) {
      // Behind the last row weights are zero, and any code will do.
      const int64_t y = oy * g.stride[0] - g.pad[0] + std::min(4 * f + k, last) * g.dilation[0];
      lies_inside[k] = y >= 0 && y < g.h;
      lines[k] = image + (lies_inside[k] ? y : 0) * g.w * g.c;
    }
    const __mmask64 masks[4] = {lies_inside[0] ? inside : 0, lies_inside[1] ? inside : 0, lies_inside[2] ? inside : 0,
                                lies_inside[3] ? inside : 0};
    std::byte* to = words;
    for (int64_t x = 0; x < g.pad[1]; ++x, to += column) interleave(beside, to);
    for (int64_t x = 0; x < g.w; ++x, to += column) {
      __m512i rows[4];
      HS_UNROLL for (int k = 0; k < 4; ++k) rows[k] = _mm512_mask_loadu_epi8(padding, masks[k], lines[k] + x * g.c);
      interleave(rows, to);
    }
    for (int64_t x = 0; x < g.pad[3]; ++x, to += column) interleave(beside, to);
  }
}

/// A line of the result. kWords: of the columns that a pixel meets, if they are few enough for registers to hold their
/// weights, else 0.
template <class Lanes, int kWords>
HS_LANES void compute_line(const Depthwise& state, const std::byte* weights, const LaneSteps* steps,
                           const std::byte* words, int64_t channels, uint8_t* dst) {
  const ConvGeometry& g = state.g;
  const CodeRange& range = state.layer.range;
  const ByteCodes codes(range);
  const Lanes lanes[kVectors] = {{steps[0], range}, {steps[1], range}, {steps[2], range}, {steps[3], range}};
  const __mmask64 inside = first(channels);
  const int64_t fours = state.fours(), column = fours * kVectors * 64;
  __m512i taps[kWords + 1][kVectors];
  HS_UNROLL for (int k = 0; k < kWords; ++k) {
    HS_UNROLL for (int v = 0; v < kVectors; ++v) taps[k][v] = _mm512_load_si512(weights + (k * kVectors + v) * 64);
  }
  for (int64_t ox = 0; ox < g.ow; ++ox, dst += g.c) {
    __m512i acc[kVectors];
    HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[v] = _mm512_load_si512(steps[v].bias);
    const std::byte* from = words + ox * g.stride[1] * column;
    HS_UNROLL for (int k = 0; k < kWords; ++k) {
      HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[v] =
          _mm512_dpbusd_epi32(acc[v], _mm512_load_si512(from + k * g.dilation[1] * column + v * 64), taps[k][v]);
    }
    for (int64_t k = kWords; k < g.kw * fours; ++k) {
      const std::byte* word = from + k / fours * g.dilation[1] * column + k % fours * kVectors * 64;
      HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[v] = _mm512_dpbusd_epi32(
          acc[v], _mm512_load_si512(word + v * 64), _mm512_load_si512(weights + (k * kVectors + v) * 64));
    }
    HS_UNROLL for (int v = 0; v < kVectors; ++v) acc[v] = lanes[v](acc[v]);
    _mm512_mask_storeu_epi8(dst, inside, codes(acc[0], acc[1], acc[2], acc[3]));
  }
}

template <class Lanes>
auto line_of(const Depthwise& state) {
  return state.g.kw == 3 && state.fours() == 1 ? &compute_line<Lanes, 3> : &compute_line<Lanes, 0>;
}

Verdict accept_depthwise(const Problem& problem) {
  if (Verdict verdict = accept_bytes(problem); !verdict) return verdict;
  const Dims& w = problem.in[Op::in::w]->dims;
  if (w[1] != 1 || w[0] != Op(problem.attributes).groups)
    return refuse("a group has {} input and {} output channels", w[1], w[0] / Op(problem.attributes).groups);
  return accept();
}

Plan prepare_depthwise(const Problem& problem) {
  auto state = std::make_shared<Depthwise>(problem);
  state->line = state->layer.in_float() ? line_of<FloatLanes>(*state) : line_of<FixedLanes>(*state);
  const ConvGeometry& g = state->g;
  Plan plan{.state = state,
            .worker_scratch = static_cast<size_t>(state->words_bytes()),
            .phases = {g.n * state->bands() * state->blocks()}};
  const Status status =
      pack_constant(problem, state->layer, state->blocks() * state->block_bytes(), state->packed, plan,
                    [&](const NhwcParameters& from, std::byte* memory) { return pack(*state, from, memory); });
  if (!status.ok()) fail("{}", status.message());
  return plan;
}

Status run_depthwise(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<Depthwise>(call);
  const ConvGeometry& g = state.g;
  const bool packs = !state.packed.defined();
  if (packs && phase == 0)
    return pack(state, NhwcParameters::of(state.layer, [&](int i) { return call.in[i].data; }), call.scratch);
  const int64_t block = piece % state.blocks(), band = piece / state.blocks() % state.bands();
  const int64_t image = piece / state.blocks() / state.bands(), c = block * kBlock;
  const std::byte* packed = (packs ? call.scratch : state.packed.raw()) + block * state.block_bytes();
  const uint8_t* x = call.in[Op::in::x].as<const uint8_t>() + image * g.x_image() + c;
  uint8_t* out = call.out[0].as<uint8_t>() + image * g.out_image() + c;
  const int64_t channels = std::min(kBlock, g.c - c);
  const auto* steps = reinterpret_cast<const LaneSteps*>(packed + state.steps_offset());
  const int64_t end = std::min(g.oh, (band + 1) * state.lines);
  for (int64_t oy = band * state.lines; oy < end; oy += state.together) {
    fill_words(state, x, oy, channels, call.worker_scratch);
    for (int64_t line = 0; line < std::min(state.together, end - oy); ++line)
      state.line(state, packed + line * state.weight_bytes(), steps, call.worker_scratch, channels,
                 out + (oy + line) * g.ow * g.c);
  }
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_channels_last_integer_conv2d_depthwise{"depthwise", integer::accept_depthwise,
                                                               integer::prepare_depthwise, integer::run_depthwise};

}  // namespace halfstep::kernels
