#include "halfstep/engine/kernels/image/conv/cpu/cut.h"

#include "halfstep/core/base/divide.h"

#include <algorithm>

namespace halfstep::kernels {
namespace {

constexpr int64_t kMostImages = 16;
/// A piece takes about 80 us on one core at 200 GFLOP/s, a hundred times the cost to start it.
constexpr int64_t kPieceFlops = 16'000'000;
/// Smallest piece of a further cut, about 10 us.
constexpr int64_t kLeastFlops = 2'000'000;
/// Both tensors of a piece fit into the second-level cache, where they wait for the change of layout.
constexpr int64_t kPieceBytes = int64_t{512} << 10;
/// Pieces that keep a large machine busy. Channels are cut only if there are fewer.
constexpr int64_t kWantedPieces = 8;
/// Least output pixels in a partial weight gradient. To write and add one costs about 10 multiply-adds for each
/// element.
constexpr int64_t kGradientPixels = 1024;
/// Most bytes of all partial weight gradients of a call.
constexpr int64_t kPartialBytes = int64_t{32} << 20;

int64_t images_of(ConvCut::Pass pass, const ConvGeometry& g) {
  const int64_t by_work = std::min(kMostImages, ceil_div(kPieceFlops, std::max<int64_t>(1, g.image_flops())));
  const int64_t image_bytes = (g.x_image() + g.out_image()) * static_cast<int64_t>(sizeof(float));
  int64_t images = std::max<int64_t>(1, std::min(by_work, kPieceBytes / image_bytes));
  if (pass == ConvCut::Pass::grad_w) {
    const int64_t most_blocks =
        std::max<int64_t>(1, kPartialBytes / (g.weights() * static_cast<int64_t>(sizeof(float))));
    images = std::max({images, ceil_div(kGradientPixels, g.out_plane()), ceil_div(g.n, most_blocks)});
  }
  images = std::min(images, g.n);
  // A tail needs its own primitives and packed weights, so a divisor of the batch is preferred even if it halves the
  // block. Without one, blocks are as equal as possible: 29 images become 15 + 14, not 16 + 13.
  for (int64_t divisor = images; 2 * divisor >= images; --divisor) {
    if (g.n % divisor == 0) return divisor;
  }
  return ceil_div(g.n, ceil_div(g.n, images));
}

/// Number of parts. Channels that a pass writes are cut at multiples of the channels that the widest vector kernels
/// take at a time.
int64_t parts_of(ConvCut::Pass pass, const ConvGeometry& g, int64_t blocks, int64_t images) {
  const bool depthwise = g.group_in() == 1 && g.group_out() == 1;
  const int64_t units = g.groups > 1 ? g.groups : pass == ConvCut::Pass::grad_x ? g.c : g.o;
  const int64_t granule = g.groups > 1 && !depthwise ? 1 : 16;
  if (units % granule != 0) return 1;
  int64_t best = 1;
  for (int64_t parts = 2; blocks * parts <= kWantedPieces; ++parts) {
    if (units / granule % parts == 0 && images * g.image_flops() / parts >= kLeastFlops) best = parts;
  }
  return best;
}

}  // namespace

ConvCut::ConvCut(Pass pass, const ConvGeometry& whole) : pass_(pass), whole_(whole) {
  images_ = images_of(pass, whole);
  blocks_ = ceil_div(whole.n, images_);
  parts_ = parts_of(pass, whole, blocks_, images_);
}

int64_t ConvCut::part_out() const { return whole_.groups > 1 || pass_ != Pass::grad_x ? whole_.o / parts_ : whole_.o; }

int64_t ConvCut::part_in() const { return whole_.groups > 1 || pass_ == Pass::grad_x ? whole_.c / parts_ : whole_.c; }

onednn::Convolution::Spec ConvCut::spec(bool tail, bool bias) const {
  ConvGeometry g = whole_;
  g.n = tail ? whole_.n % images_ : images_;
  g.c = part_in();
  g.o = part_out();
  if (g.groups > 1) g.groups /= parts_;
  return {.pass = pass_,
          .geometry = g,
          .x_image = whole_.x_image(),
          .out_image = whole_.out_image(),
          .filter = whole_.filter(),
          .bias = bias};
}

int64_t ConvCut::weights_of(int64_t part) const {
  return whole_.groups == 1 && pass_ == Pass::grad_x ? part * part_in() * whole_.taps() : part * part_weights();
}

ConvCut::Place ConvCut::place(int64_t piece) const {
  const int64_t block = piece / parts_, part = piece % parts_;
  const bool tail = has_tail() && block == blocks_ - 1;
  const int64_t image = block * images_;
  const int64_t first_in = part_in() == whole_.c ? 0 : part * part_in();
  const int64_t first_out = part_out() == whole_.o ? 0 : part * part_out();
  return {.block = block,
          .part = part,
          .tail = tail,
          .images = tail ? whole_.n % images_ : images_,
          .x = image * whole_.x_image() + first_in * whole_.x_plane(),
          .out = image * whole_.out_image() + first_out * whole_.out_plane(),
          .weights = weights_of(part),
          .bias = pass_ == Pass::grad_x ? first_in : first_out};
}

}  // namespace halfstep::kernels
