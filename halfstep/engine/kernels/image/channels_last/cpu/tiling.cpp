#include "halfstep/engine/kernels/image/channels_last/cpu/tiling.h"

#include <algorithm>
#include <limits>

namespace halfstep::kernels::channels_last {
namespace {

/// Cost of work beside the sums, in multiplications and additions. kPieceCost starts a piece. kCopyCost copies a byte
/// of x into the padded buffer. kNearCost reads a byte of x or weights from the second-level cache, and kFarCost a byte
/// of weights from behind it.
constexpr double kPieceCost = 100'000, kCopyCost = 8, kNearCost = 1, kFarCost = 6;
/// Most bytes of worker scratch for lines of x.
constexpr int64_t kLineBytes = int64_t{1} << 20;
/// Half of a first-level cache.
constexpr int64_t kSmallWeightBytes = int64_t{24} << 10;

constexpr int64_t kFloat = sizeof(float);

}  // namespace

Tiling::Tiling(const ConvGeometry& whole, int64_t lanes) : g_(whole) {
  if (is_flat()) flatten();
  pixels_ = is_flat() ? whole.n * whole.out_plane() : g_.out_plane();
  const bool joined = g_.groups == 1 && g_.dilation[1] == 1;  // the taps of a row are one run
  run_ = joined ? g_.kw * g_.c : g_.group_in();
  for (int64_t ky = 0; ky < g_.kh; ++ky) {
    for (int64_t kx = 0; kx < (joined ? 1 : g_.kw); ++kx)
      runs_.push_back((ky * g_.dilation[0] * padded_width() + kx * g_.dilation[1]) * g_.c);
  }
  add_blocks(lanes);
  cut_ = Cut(g_.n, g_.oh, static_cast<int64_t>(blocks_.size()));
  cut_.choose([&](const Cut& cut) { return cost(cut); });
}

bool Tiling::is_flat() const { return g_.taps() == 1 && g_.stride == std::array<int64_t, 2>{1, 1} && !is_padded(); }

void Tiling::flatten() {
  const int64_t lines = ceil_div(g_.n * g_.out_plane(), kFlatLine);
  g_.n = 1;
  g_.h = g_.oh = lines;
  g_.w = g_.ow = kFlatLine;
}

void Tiling::add_blocks(int64_t lanes) {
  const int64_t widest = 2 * lanes;
  for (int64_t o = 0; o < g_.o;) {
    const int64_t left = g_.group_out() - o % g_.group_out();
    const int64_t channels = std::min(left, widest), width = ceil_div(channels, lanes) * lanes;
    blocks_.push_back({o, channels, width, o / g_.group_out() * g_.group_in(), packed_size_});
    packed_size_ += g_.filter() * width;
    o += channels;
  }
}

int64_t Tiling::line_bytes(int64_t lines) const { return x_lines(lines) * padded_width() * g_.c * kFloat; }

double Tiling::cost(const Cut& cut) const {
  if (cut.lines() > 1 && line_bytes(cut.lines()) > kLineBytes) return std::numeric_limits<double>::infinity();
  const int64_t weight_bytes = packed_size_ * kFloat / cut.parts();
  const auto flops = static_cast<double>(cut.images() * cut.lines() * 2 * g_.ow * packed_size_ / cut.parts());
  const double copy = is_padded() ? kCopyCost * static_cast<double>(cut.images() * line_bytes(cut.lines())) : 0;
  const double x = kNearCost * static_cast<double>(cut.images() * line_bytes(cut.lines()));
  const double weights = (weight_bytes <= kNearBytes ? kNearCost : kFarCost) * static_cast<double>(weight_bytes);
  return cut.turns() * (kPieceCost + flops + copy + x + weights);
}

int64_t Tiling::together() const {
  const bool is_near = packed_size_ * kFloat / cut_.parts() <= kNearBytes;
  return is_near ? std::max<int64_t>(1, kFlatLine / g_.ow) : cut_.lines();
}

bool Tiling::has_small_weights() const { return packed_size_ * kFloat <= kSmallWeightBytes; }

void Tiling::pack(const Block& block, const float* weights, float* packed) const {
  const int64_t depth = g_.filter();
  float* to = packed + block.weights;
  for (int64_t tap = 0; tap < g_.taps(); ++tap) {
    for (int64_t c = 0; c < g_.group_in(); ++c, to += block.width) {
      const float* from = weights + block.channel * depth + c * g_.taps() + tap;
      for (int64_t j = 0; j < block.channels; ++j) to[j] = from[j * depth];
      std::fill(to + block.channels, to + block.width, 0.0F);
    }
  }
}

int64_t Tiling::padded_size() const { return is_padded() ? line_bytes(cut_.lines()) / kFloat : 0; }

const float* Tiling::enter(const float* image, const Piece& piece, float* padded) const {
  const int64_t first = piece.first * g_.stride[0] - g_.pad[0];
  if (!is_padded()) return image + first * g_.w * g_.c;
  const int64_t left = g_.pad[1] * g_.c, right = g_.pad[3] * g_.c, inside = g_.w * g_.c;
  float* to = padded;
  for (int64_t y = first; y < first + x_lines(piece.lines); ++y, to += left + inside + right) {
    if (y < 0 || y >= g_.h) {
      std::fill_n(to, left + inside + right, 0.0F);
      continue;
    }
    std::fill_n(to, left, 0.0F);
    std::copy_n(image + y * inside, inside, to + left);
    std::fill_n(to + left + inside, right, 0.0F);
  }
  return padded;
}

}  // namespace halfstep::kernels::channels_last
