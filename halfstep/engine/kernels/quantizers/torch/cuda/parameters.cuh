// Parameters of channels on the device. A small kernel derives them once. If there is only one channel, each thread
// derives them.
#pragma once

#include <array>
#include <cstddef>

#include "halfstep/engine/kernels/common/cuda/launch.cuh"
#include "halfstep/engine/kernels/common/numbers.h"

namespace halfstep::kernels::torch {

/// Parameters of type `P`, constructed from source.of(channel).
template <class P, class Source>
struct ParameterList {
  Source source;
  const P* derived;  ///< parameters of all channels, or nullptr for one channel

  /// The parameters of the only channel.
  HS_HOST_DEVICE P single() const { return derived != nullptr ? derived[0] : P(source.of(0)); }
  /// The parameters of one of several channels.
  HS_HOST_DEVICE P at(int64_t channel) const { return derived[channel]; }
};

template <class P, class Source>
struct DeriveParameters {
  Source source;
  P* derived;
  long long* first_illegal;

  __device__ void operator()(int64_t channel) const {
    derived[channel] = P(source.of(channel));
    if (!source.is_legal_at(channel)) atomicMin(first_illegal, static_cast<long long>(channel));
  }
};

/// Scratch: the first channel with an illegal zero point, then the parameters of all.
template <class P, class Source>
class ChannelParameters {
 public:
  static size_t scratch(int64_t count) { return count == 1 ? 0 : kHead + static_cast<size_t>(count) * sizeof(P); }

  ChannelParameters(const Source& source, int64_t count, std::byte* scratch)
      : source_(source), count_(count), scratch_(count == 1 ? nullptr : scratch) {
    if (scratch_ == nullptr || count == 0) return;
    cudaMemsetAsync(scratch_, 0x7F, kHead);
    cuda::for_each_channel(count,
                           DeriveParameters<P, Source>{source_, derived(), reinterpret_cast<long long*>(scratch_)});
  }

  ParameterList<P, Source> list() const { return {source_, scratch_ == nullptr ? nullptr : derived()}; }

  /// Checks the zero points. Call it after all launches, because it waits for them. `use` builds the error for an
  /// illegal one.
  template <class Use>
  Status check(const Use& use) const {
    if (!source_.checks() || count_ == 0) return {};
    long long channel = 0;
    if (scratch_ != nullptr) cudaMemcpy(&channel, scratch_, sizeof channel, cudaMemcpyDeviceToHost);
    if (channel >= count_) return {};
    const Numbers& stored = source_.zero_point;
    const size_t width = size_of(stored.dtype);
    alignas(8) std::array<std::byte, 8> bytes = {};
    cudaMemcpy(bytes.data(), static_cast<const std::byte*>(stored.data) + static_cast<size_t>(channel) * width, width,
               cudaMemcpyDeviceToHost);
    Numbers number;
    number.data = bytes.data();
    number.dtype = stored.dtype;
    const auto zero = number.template at<double>(0);
    return source_.is_legal(zero) ? Status() : use.refused(source_, channel, zero);
  }

 private:
  static constexpr size_t kHead = 16;
  P* derived() const { return reinterpret_cast<P*>(scratch_ + kHead); }

  Source source_;
  int64_t count_;
  std::byte* scratch_;
};

}  // namespace halfstep::kernels::torch
