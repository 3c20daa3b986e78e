#include "halfstep/kernels/integer/cpu/nhwc_tiling.h"

#include "halfstep/base/divide.h"

#include <algorithm>

namespace halfstep::kernels::integer {
namespace {

constexpr int64_t kChunk = 64;  ///< bytes of a vector
/// Pixels that 1x1 convolutions take as a line.
constexpr int64_t kFlatLine = 64;
/// Tiles that go through all blocks while what they read stays in the first-level cache.
constexpr int64_t kFewTiles = 16;
/// Half of a second-level cache.
constexpr int64_t kNearBytes = int64_t{1} << 20;
/// Worker scratch.
constexpr int64_t kMostScratch = int64_t{1} << 20;
/// A small and a large machine, both of which should have no thread without work.
constexpr int64_t kThreads[] = {2, 8};

/// Cycles: starting a piece, a step of a tile of 16 by 16, a code, a byte that is copied, a byte of weights.
constexpr double kPieceCost = 2500, kStepCost = 16, kCodeCost = 0.4, kCopyCost = 0.1, kNearCost = 0.03, kFarCost = 0.2;

}  // namespace

NhwcTiling::NhwcTiling(const NhwcLayer& layer, int64_t tile_pixels)
    : g_(layer.geometry), zero_point_(static_cast<uint8_t>(layer.x_zero_point)) {
  add_runs();
  pixels_ = g_.out_plane();
  if (is_flat()) flatten();
  add_blocks();
  const int64_t line = std::min(g_.ow, pixels_);
  tile_pixels_ = ceil_div(line, ceil_div(line, tile_pixels));
  cut();
}

/// Equal steps of a run where they need not be many more; otherwise the last one reads past its end.
void NhwcTiling::add_runs() {
  const bool joined = g_.groups == 1 && g_.dilation[1] == 1;  // neighbouring pixels are one run
  run_ = joined ? g_.kw * g_.c : g_.group_in();
  const int64_t fewest = ceil_div(run_, kChunk);
  steps_ = fewest;
  while (run_ % (4 * steps_) != 0 && steps_ <= fewest + fewest / 2) ++steps_;
  const bool equal = run_ % (4 * steps_) == 0;
  if (!equal) steps_ = fewest;
  chunk_ = ceil_div(run_, 4 * steps_) * 4;
  is_copied_ = !equal || g_.pad != std::array<int64_t, 4>{};
  for (int64_t ky = 0; ky < g_.kh; ++ky) {
    for (int64_t kx = 0; kx < (joined ? 1 : g_.kw); ++kx)
      runs_.push_back((ky * g_.dilation[0] * padded().width() + kx * g_.dilation[1]) * g_.c);
  }
}

bool NhwcTiling::is_flat() const {
  return g_.taps() == 1 && g_.stride == std::array<int64_t, 2>{1, 1} && !is_copied_ && g_.groups == 1;
}

void NhwcTiling::flatten() {
  pixels_ *= g_.n;
  g_.n = 1;
  g_.ow = g_.w = std::min(kFlatLine, pixels_);
  g_.oh = g_.h = ceil_div(pixels_, g_.ow);
}

void NhwcTiling::add_blocks() {
  for (int64_t o = 0; o < g_.o;) {
    const int64_t channels = std::min(g_.group_out() - o % g_.group_out(), kBlockOutputs);
    blocks_.push_back({o, channels, o / g_.group_out() * g_.group_in(), packed_bytes_});
    packed_bytes_ += static_cast<int64_t>(runs_.size()) * steps_ * chunk_ * blocks_.back().vectors() * kLanes;
    o += channels;
  }
}

/// Chooses the cut that takes the least time, with pieces in turns on a number of threads.
void NhwcTiling::cut() {
  const auto blocks = static_cast<int64_t>(blocks_.size());
  NhwcTiling best = *this;
  for (parts_ = 1; parts_ <= blocks; parts_ *= 2) {
    for (lines_ = g_.oh; lines_ >= 1; lines_ = std::min(lines_ - 1, ceil_div(g_.oh, bands() + 1))) {
      for (images_ = 1; images_ <= (bands() == 1 ? g_.n : 1); images_ *= 2) {
        if (scratch_bytes() > kMostScratch && lines_ * images_ > 1) continue;
        if (cost() < best.cost()) best = *this;
      }
      images_ = 1;
    }
  }
  *this = best;
}

double NhwcTiling::cost() const {
  const auto tiles = static_cast<double>(images_ * lines_ * tiles_of_line());
  const auto vectors = static_cast<double>(packed_bytes_) / static_cast<double>(parts_ * kChunk * kLanes);  // of steps
  const auto codes = static_cast<double>(images_ * lines_ * g_.ow * g_.o) / static_cast<double>(parts_);
  const int64_t weights = packed_bytes_ / parts_;
  const double fetch = weights <= kNearBytes ? kNearCost : kFarCost;
  double turns = 0;
  for (const int64_t threads : kThreads) turns += static_cast<double>(ceil_div(pieces(), threads) * threads);
  return turns * (kPieceCost + kStepCost * tiles * vectors + kCodeCost * codes +
                  kCopyCost * static_cast<double>(scratch_bytes()) + fetch * static_cast<double>(weights));
}

NhwcTiling::Piece NhwcTiling::piece(int64_t number) const {
  const auto blocks = static_cast<int64_t>(blocks_.size());
  const int64_t band = number % bands(), group = number / bands() % image_groups();
  const int64_t part = number / bands() / image_groups();  // the slowest: its weights stay in the cache
  return {.image = group * images_,
          .images = std::min(images_, g_.n - group * images_),
          .first = band * lines_,
          .lines = std::min(lines_, g_.oh - band * lines_),
          .block = part * blocks / parts_,
          .last_block = (part + 1) * blocks / parts_};
}

int64_t NhwcTiling::together() const { return packed_bytes_ / parts_ <= kNearBytes ? kFewTiles : kMostTiles; }

NhwcTiling::Spot NhwcTiling::spot(const Piece& piece, int64_t tile) const {
  const int64_t line = tile / tiles_of_line() % piece.lines, image = tile / tiles_of_line() / piece.lines;
  const int64_t wanted = tile % tiles_of_line() * tile_pixels_;
  const int64_t inside = pixels(piece.first + line);
  const int64_t first = std::min(wanted, inside - tile_pixels_);  // may lie in the line before where lines are one
  const int64_t x_image = is_copied_ ? image_bytes() : g_.x_image();
  return {.x = image * x_image + line * g_.stride[0] * padded().line_bytes() + first * pixel_step(),
          .out = (piece.image + image) * g_.out_image() + ((piece.first + line) * g_.ow + first) * g_.o,
          .known = std::min(wanted - first, tile_pixels_)};
}

void NhwcTiling::pack(const int8_t* weights, std::byte* packed) const {
  const int64_t depth = g_.filter(), taps = g_.taps();
  for (const Block& block : blocks_) {
    const int64_t vectors = block.vectors();
    for (int64_t j = 0; j < block.channels; ++j) {
      const int8_t* filter = weights + (block.channel + j) * depth;
      for (int64_t k = 0; k < depth; ++k) {
        // Byte k % run_ of run k / run_: taps in order, and for each the channels.
        const int64_t step = k / run_ * steps_ + k % run_ / chunk_, byte = k % run_ % chunk_;
        const int64_t vector = step * vectors + j / kLanes;
        const int64_t at = block.weights + vector * chunk_ * kLanes + (byte / 4 * kLanes + j % kLanes) * 4 + byte % 4;
        packed[at] = static_cast<std::byte>(filter[k % g_.group_in() * taps + k / g_.group_in()]);
      }
    }
  }
}

const uint8_t* NhwcTiling::enter(const uint8_t* x, const Piece& piece, uint8_t* scratch) const {
  x += piece.image * g_.x_image();
  if (!is_copied_) return x + piece.first * g_.stride[0] * g_.w * g_.c;
  for (int64_t n = 0; n < piece.images; ++n)
    padded().copy(x + n * g_.x_image(), piece.first, piece.lines, scratch + n * image_bytes());
  return scratch;
}

}  // namespace halfstep::kernels::integer
