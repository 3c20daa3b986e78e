#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_tiling.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace halfstep::kernels::integer {
namespace {

using channels_last::Cut;
using channels_last::kNearBytes;

constexpr int64_t kChunk = 64;  ///< bytes of a vector
/// Pixels of a line in a 1x1 convolution.
constexpr int64_t kFlatLine = 64;
/// Tiles that go through all blocks while their data stays in the first-level cache.
constexpr int64_t kFewTiles = 16;
/// Most bytes of worker scratch.
constexpr int64_t kMostScratch = int64_t{1} << 20;

/// Cost in cycles: start of a piece, step of a tile of 16 by 16, code, copied byte, and byte of weights from near and
/// from far.
constexpr double kPieceCost = 2500, kStepCost = 16, kCodeCost = 0.4, kCopyCost = 0.1, kNearCost = 0.03, kFarCost = 0.2;

}  // namespace

NhwcTiling::NhwcTiling(const NhwcLayer& layer, const NhwcEngine& engine)
    : g_(layer.geometry),
      widen_(engine.widen),
      x_bytes_(layer.wide_in ? 2 : 1),
      code_bytes_(engine.widen != nullptr ? 2 : 1),
      zero_point_(layer.x_zero_point - layer.offset()),
      pixels_(g_.out_plane()),
      x_codes_(g_.x_image()) {
  add_runs();
  if (is_flat()) flatten();
  add_blocks();
  const int64_t line = std::min(g_.ow, pixels_);
  tile_pixels_ = ceil_div(line, ceil_div(line, engine.tile_pixels));
  tiles_of_line_ = ceil_div(g_.ow, tile_pixels_);
  cut_ = Cut(g_.n, g_.oh, static_cast<int64_t>(blocks_.size()));
  cut_.choose([&](const Cut& cut) { return cost(cut); });
}

/// Cuts a run into equal steps if that needs few more of them. Otherwise the last step reads past its end.
void NhwcTiling::add_runs() {
  const bool joined = g_.groups == 1 && g_.dilation[1] == 1;  // the taps of a row are one run
  run_ = (joined ? g_.kw * g_.c : g_.group_in()) * code_bytes_;
  const int64_t fewest = ceil_div(run_, kChunk);
  steps_ = fewest;
  while (run_ % (4 * steps_) != 0 && steps_ <= fewest + fewest / 2) ++steps_;
  const bool equal = run_ % (4 * steps_) == 0;
  if (!equal) steps_ = fewest;
  chunk_ = ceil_div(run_, 4 * steps_) * 4;
  is_copied_ = widen_ != nullptr || !equal || g_.pad != std::array<int64_t, 4>{};
  for (int64_t ky = 0; ky < g_.kh; ++ky) {
    for (int64_t kx = 0; kx < (joined ? 1 : g_.kw); ++kx)
      runs_.push_back(ky * g_.dilation[0] * line_bytes() + kx * g_.dilation[1] * pixel_bytes());
  }
}

bool NhwcTiling::is_flat() const {
  return g_.taps() == 1 && g_.stride == std::array<int64_t, 2>{1, 1} && g_.pad == std::array<int64_t, 4>{} &&
         g_.groups == 1;
}

void NhwcTiling::flatten() {
  pixels_ *= g_.n;
  x_codes_ *= g_.n;
  g_.n = 1;
  g_.ow = g_.w = std::min(kFlatLine, pixels_);
  g_.oh = g_.h = ceil_div(pixels_, g_.ow);
}

void NhwcTiling::add_blocks() {
  for (int64_t o = 0; o < g_.o;) {
    const int64_t channels = std::min(g_.group_out() - o % g_.group_out(), kBlockOutputs);
    blocks_.push_back({o, channels, o / g_.group_out() * g_.group_in() * code_bytes_, packed_bytes_});
    packed_bytes_ += static_cast<int64_t>(runs_.size()) * steps_ * chunk_ * blocks_.back().vectors() * kLanes;
    o += channels;
  }
}

double NhwcTiling::cost(const Cut& cut) const {
  const int64_t lines = cut.images() * cut.lines(), weights = packed_bytes_ / cut.parts();
  if (scratch_bytes(cut) > kMostScratch && lines > 1) return std::numeric_limits<double>::infinity();
  const auto tiles = static_cast<double>(lines * tiles_of_line_);
  const auto vectors = static_cast<double>(packed_bytes_) / static_cast<double>(cut.parts() * kChunk * kLanes);
  const auto codes = static_cast<double>(lines * g_.ow * g_.o) / static_cast<double>(cut.parts());
  const double fetch = weights <= kNearBytes ? kNearCost : kFarCost;
  return cut.turns() * (kPieceCost + kStepCost * tiles * vectors + kCodeCost * codes +
                        kCopyCost * static_cast<double>(scratch_bytes(cut)) + fetch * static_cast<double>(weights));
}

int64_t NhwcTiling::together() const { return packed_bytes_ / cut_.parts() <= kNearBytes ? kFewTiles : kMostTiles; }

NhwcTiling::Spot NhwcTiling::spot(const Piece& piece, int64_t tile) const {
  const int64_t row = tile / tiles_of_line_, line = row % piece.lines, image = row / piece.lines;
  const int64_t wanted = tile % tiles_of_line_ * tile_pixels_, inside = pixels(piece.first + line);
  int64_t first = std::min(wanted, inside - tile_pixels_);
  if (is_copied_)
    first = std::max<int64_t>(first, 0);  // otherwise it may be in the line before, because lines are
                                          // contiguous
  const int64_t end = std::min(tile_pixels_, inside - first);
  return {.x = image * image_bytes(cut_.lines()) + line * g_.stride[0] * line_bytes() + first * pixel_step(),
          .out = (piece.image + image) * g_.out_image() + ((piece.first + line) * g_.ow + first) * g_.o,
          .known = std::min(wanted - first, end),
          .end = end};
}

void NhwcTiling::pack(const int8_t* weights, std::byte* packed) const {
  const int64_t depth = g_.filter(), taps = g_.taps(), run = run_ / code_bytes_;
  for (const Block& block : blocks_) {
    const int64_t vectors = block.vectors();
    for (int64_t j = 0; j < block.channels; ++j) {
      const int8_t* filter = weights + (block.channel + j) * depth;
      for (int64_t k = 0; k < depth; ++k) {
        // Code k % run of run k / run. The order is taps, then channels.
        const int64_t in_run = k % run * code_bytes_, byte = in_run % chunk_;
        const int64_t vector = (k / run * steps_ + in_run / chunk_) * vectors + j / kLanes;
        const int64_t at = block.weights + vector * chunk_ * kLanes + (byte / 4 * kLanes + j % kLanes) * 4 + byte % 4;
        const int16_t weight = filter[k % g_.group_in() * taps + k / g_.group_in()];
        std::memcpy(packed + at, &weight, static_cast<size_t>(code_bytes_));  // the lower byte comes first
      }
    }
  }
}

const std::byte* NhwcTiling::enter(const std::byte* x, const Piece& piece, std::byte* scratch) const {
  const int64_t first = piece.first * g_.stride[0] - g_.pad[0], lines = x_lines(cut_.lines());
  x += piece.image * x_codes_ * x_bytes_;
  if (!is_copied_) return x + first * line_bytes();
  for (int64_t n = 0; n < piece.images; ++n) {
    for (int64_t y = 0; y < x_lines(piece.lines); ++y)
      copy_line(x + n * x_codes_ * x_bytes_, first + y, scratch + (n * lines + y) * line_bytes());
  }
  return scratch;
}

void NhwcTiling::copy_line(const std::byte* image, int64_t y, std::byte* to) const {
  const int64_t begin = y * g_.w * g_.c, codes = std::min(g_.w * g_.c, x_codes_ - begin);
  if (y < 0 || y >= g_.h) {
    fill(to, line_bytes() / code_bytes_);
    return;
  }
  to = fill(to, g_.pad[1] * g_.c);
  if (widen_ != nullptr) {
    widen_(image + begin * x_bytes_, codes, to);
  } else {
    std::memcpy(to, image + begin, static_cast<size_t>(codes));
  }
  fill(to + codes * code_bytes_, g_.pad[3] * g_.c);
}

/// Writes codes of padding. Returns the end.
std::byte* NhwcTiling::fill(std::byte* to, int64_t codes) const {
  if (code_bytes_ == 1) return std::fill_n(to, codes, static_cast<std::byte>(zero_point_));
  return reinterpret_cast<std::byte*>(
      std::fill_n(reinterpret_cast<int16_t*>(to), codes, static_cast<int16_t>(zero_point_)));
}

}  // namespace halfstep::kernels::integer
