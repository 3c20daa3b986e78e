// Gradients of PyTorch's learned quantizers on CUDA, in one read and one write. Sums keep the order of SumBlocks. A
// thread block computes the terms of some elements together. Then one thread for each chain adds them, while the other
// threads compute the next terms.
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/cuda/float_types.cuh"
#include "halfstep/engine/kernels/quantizers/torch/cuda/parameters.cuh"
#include "halfstep/engine/kernels/quantizers/torch/learnable.h"

namespace halfstep::kernels {
namespace torch {
namespace {

using GradList = ParameterList<Parameters, ParameterSource>;
using GradParameters = ChannelParameters<Parameters, ParameterSource>;

/// Most chains of a strip. Each chain has two threads, one for each sum.
constexpr int64_t kMostChains = 112;

struct Sums {
  double scale, zero_point;
};

/// Sums of one thread block: `slices` slices of `size` elements, with `stride` elements from start to start. Slices are
/// padded to `padded` elements and laid out one after another. Element v of that layout belongs to chain v % chains.
struct Strip {
  int64_t begin, stride, sums;  ///< index of element 0, distance of slices, index of the first channel's sums
  int64_t channel;
  int32_t channels, run;  ///< channels with `run` chains each, or one channel with all chains
  int32_t slices, size, padded, chains;
};

/// The blocks of SumBlocks as strips. Along runs, a strip is a block of one channel with kSumLanes chains. By rows, it
/// is one block of several neighbouring channels, with a chain for each column.
struct Strips {
  Channels channels;
  int64_t per_channel, slices_per_run, runs_per_block, block_rows, tile_channels, tiles;

  Strips(const Channels& of, const SumBlocks& blocks)
      : channels(of),
        per_channel(blocks.per_channel()),
        slices_per_run(blocks.along_runs().slices_per_run()),
        runs_per_block(blocks.along_runs().runs_per_block()),
        block_rows(blocks.block_rows()),
        tile_channels(std::max<int64_t>(1, kMostChains / std::max<int64_t>(1, of.run))),
        tiles(ceil_div(of.count, tile_channels)) {}

  int64_t count() const { return per_channel * (block_rows > 0 ? tiles : channels.count); }
  HS_HOST_DEVICE Strip at(int64_t index) const { return block_rows > 0 ? by_rows(index) : along_runs(index); }

 private:
  HS_HOST_DEVICE Strip along_runs(int64_t index) const {
    Strip strip{};
    strip.sums = index;
    strip.channel = index / per_channel;
    strip.channels = 1;
    strip.chains = strip.run = kSumLanes;
    const int64_t inside = index - strip.channel * per_channel;
    strip.stride = channels.count * channels.run;
    if (slices_per_run > 1) {
      const int64_t outer = inside / slices_per_run;
      const int64_t offset = (inside - outer * slices_per_run) * kPieceElements;
      strip.begin = outer * strip.stride + strip.channel * channels.run + offset;
      strip.slices = 1;
      strip.size = static_cast<int32_t>(smaller(kPieceElements, channels.run - offset));
    } else {
      const int64_t outer = inside * runs_per_block;
      strip.begin = outer * strip.stride + strip.channel * channels.run;
      strip.slices = static_cast<int32_t>(smaller(runs_per_block, channels.outer - outer));
      strip.size = static_cast<int32_t>(channels.run);
    }
    constexpr int32_t kChains = kSumLanes;
    strip.padded = round_up(strip.size, kChains);
    return strip;
  }

  HS_HOST_DEVICE Strip by_rows(int64_t index) const {
    Strip strip{};
    const int64_t block = index / tiles;
    strip.channel = (index - block * tiles) * tile_channels;
    strip.channels = static_cast<int32_t>(smaller(tile_channels, channels.count - strip.channel));
    strip.run = static_cast<int32_t>(channels.run);
    strip.stride = channels.count * channels.run;
    strip.begin = block * block_rows * strip.stride + strip.channel * channels.run;
    strip.slices = static_cast<int32_t>(smaller(block_rows, channels.outer - block * block_rows));
    strip.size = strip.padded = strip.chains = strip.channels * strip.run;
    strip.sums = strip.channel * per_channel + block;
    return strip;
  }

  HS_HOST_DEVICE static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
};

template <class T>
struct Gradient {
  const T *src, *out_grad;
  T* dst;
  GradList list;
  Grid grid;
  float factor;
};

/// Elements whose terms one of the two buffers in shared memory holds.
template <class C>
constexpr int kStage = 8192 / static_cast<int>(sizeof(C));

/// Elements of a thread whose loads run at once.
constexpr int kAhead = 4;

/// Computes the terms of elements [first, first + count) of a strip. Padding adds -0, which changes no sum.
template <class T, class C>
__device__ void work_out(const Gradient<T>& gradient, const Strip& strip, const Parameters& shared, int first,
                         int count, C* scale_terms, C* zero_terms) {
  for (int begin = static_cast<int>(threadIdx.x); begin < count; begin += kAhead * cuda::kThreads) {
    int64_t at[kAhead];
    int offset[kAhead];
    T x[kAhead], out_grad[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int v = first + begin + k * cuda::kThreads;
      const int slice = strip.slices == 1 ? 0 : v / strip.padded;
      offset[k] = v - slice * strip.padded;
      at[k] = begin + k * cuda::kThreads < count && offset[k] < strip.size
                  ? strip.begin + slice * strip.stride + offset[k]
                  : -1;
      if (at[k] < 0) continue;
      x[k] = gradient.src[at[k]];
      out_grad[k] = gradient.out_grad[at[k]];
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const int place = begin + k * cuda::kThreads;
      if (place >= count) break;
      C scale = -C(0), zero = -C(0);
      if (at[k] >= 0) {
        const Parameters p = strip.channels == 1 ? shared : gradient.list.at(strip.channel + offset[k] / strip.run);
        const auto terms =
            learnable_terms(cuda::widened(x[k]), cuda::widened(out_grad[k]), p, gradient.grid, gradient.factor);
        gradient.dst[at[k]] = cuda::narrowed<T>(terms.x);
        scale = terms.scale;
        zero = terms.zero_point;
      }
      scale_terms[place] = scale;
      zero_terms[place] = zero;
    }
  }
}

template <class T>
__global__ void __launch_bounds__(cuda::kThreads)
    strips_kernel(Gradient<T> gradient, Strips strips, int64_t count, int64_t per_channel, Sums* sums) {
  using C = Compute<T>;
  __shared__ C stage[2][2][kStage<C>];
  __shared__ double chains[2][kMostChains];
  const int thread = static_cast<int>(threadIdx.x);
  for (int64_t index = blockIdx.x; index < count; index += gridDim.x) {
    const Strip strip = strips.at(index);
    const Parameters shared = strips.channels.count == 1 ? gradient.list.single() : gradient.list.at(strip.channel);
    const int total = strip.slices * strip.padded;
    const int most = kStage<C> / strip.chains * strip.chains;
    const int which = thread >= strip.chains ? 1 : 0;
    const int chain = thread - which * strip.chains;
    const bool adds = chain < strip.chains;
    double sum = 0.0;
    int buffer = 0;
    for (int first = 0; first < total; first += most) {
      const int size = total - first < most ? total - first : most;
      work_out(gradient, strip, shared, first, size, stage[buffer][0], stage[buffer][1]);
      __syncthreads();
      // The next stage is written to the other buffer. This buffer is written again only after the next barrier.
      if (adds) {
        for (int v = chain; v < size; v += strip.chains) sum += stage[buffer][which][v];
      }
      buffer ^= 1;
    }
    if (adds) chains[which][chain] = sum;
    __syncthreads();
    for (int channel = thread; channel < strip.channels; channel += cuda::kThreads) {
      Sums both{0.0, 0.0};
      for (int c = channel * strip.run; c < (channel + 1) * strip.run; ++c) {
        both.scale += chains[0][c];
        both.zero_point += chains[1][c];
      }
      sums[strip.sums + channel * per_channel] = both;
    }
    __syncthreads();
  }
}

/// Adds the sums of a channel's blocks in order. One warp reads many at once and adds them one by one.
__global__ void __launch_bounds__(cuda::kThreads)
    finish_kernel(const Sums* sums, int64_t per_channel, int64_t channels, float* scale_grad, float* zero_point_grad) {
  constexpr int kWarp = 32;
  constexpr int64_t kWarps = cuda::kThreads / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t channel = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp; channel < channels;
       channel += gridDim.x * kWarps) {
    Sums all{0.0, 0.0};
    for (int64_t first = 0; first < per_channel; first += kWarp) {
      const int64_t left = per_channel - first;
      Sums mine{0.0, 0.0};
      if (lane < left) mine = sums[channel * per_channel + first + lane];
      for (int from = 0; from < (left < kWarp ? left : kWarp); ++from) {
        all.scale += __shfl_sync(0xFFFFFFFFU, mine.scale, from);
        all.zero_point += __shfl_sync(0xFFFFFFFFU, mine.zero_point, from);
      }
    }
    if (lane != 0) continue;
    scale_grad[channel] = static_cast<float>(all.scale);
    zero_point_grad[channel] = static_cast<float>(all.zero_point);
  }
}

/// Scratch: the sums of all blocks, then the parameters of channels.
size_t sums_bytes(const LearnableGrad& grad) {
  return static_cast<size_t>(grad.channels.count * grad.blocks.per_channel()) * sizeof(Sums);
}

Plan prepare(const Problem& problem) {
  auto grad = std::make_shared<LearnableGrad>(problem);
  const size_t scratch = sums_bytes(*grad) + GradParameters::scratch(grad->channels.count);
  return {.state = std::move(grad), .scratch = scratch};
}

template <class T>
void add_strips(const LearnableGrad& grad, const Call& call, const GradList& list, Sums* sums) {
  using In = LearnableGrad::In;
  const Strips strips(grad.channels, grad.blocks);
  const Gradient<T> gradient{call.in[In::x].as<const T>(),
                             call.in[In::out_grad].as<const T>(),
                             call.out[LearnableGrad::Out::x_grad].as<T>(),
                             list,
                             grad.grid,
                             grad.factor};
  const int64_t count = strips.count();
  cuda::launch(strips_kernel<T>, std::min(count, cuda::kMostBlocks), cuda::kThreads, gradient, strips, count,
               grad.blocks.per_channel(), sums);
}

Status run(const Call& call, int, int64_t) {
  const auto& grad = state_of<LearnableGrad>(call);
  const int64_t count = grad.channels.count;
  if (count == 0) return {};
  auto* sums = reinterpret_cast<Sums*>(call.scratch);
  const GradParameters parameters(grad.parameters(call), count, call.scratch + sums_bytes(grad));
  if (grad.channels.size() > 0)
    with_any_float(grad.dtype, [&]<class T>() { add_strips<T>(grad, call, parameters.list(), sums); });
  constexpr int64_t kWarps = cuda::kThreads / 32;
  cuda::launch(finish_kernel, std::min(ceil_div(count, kWarps), cuda::kMostBlocks), cuda::kThreads,
               static_cast<const Sums*>(sums), grad.blocks.per_channel(), count,
               call.out[LearnableGrad::Out::scale_grad].as<float>(),
               call.out[LearnableGrad::Out::zero_point_grad].as<float>());
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cuda_fake_quantize_learnable_per_tensor_affine_grad_strips{"strips", accept_all, torch::prepare,
                                                                               torch::run};
extern const Kernel cuda_fake_quantize_learnable_per_channel_affine_grad_strips{"strips", accept_all, torch::prepare,
                                                                                torch::run};

}  // namespace halfstep::kernels
