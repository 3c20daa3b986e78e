// Fake quantizers without observer on CUDA: their plan, and one element forward and backward as cuda::map takes it.
#pragma once

#include <memory>

#include "halfstep/kernels/cuda/map.cuh"
#include "halfstep/kernels/torch/cuda/parameters.cuh"
#include "halfstep/kernels/torch/fake_quantize.h"

namespace halfstep::kernels::torch {

using QuantizerParameters = ChannelParameters<Parameters, ParameterSource>;
using QuantizerList = ParameterList<Parameters, ParameterSource>;

/// `Op` is the generated struct of the operator.
template <class Op>
Plan prepare_quantizer(const Problem& problem) {
  auto quantizer = std::make_shared<FakeQuantizer>(FakeQuantizer::of<Op>(problem));
  const size_t scratch = QuantizerParameters::scratch(quantizer->channels.count);
  return {.state = std::move(quantizer), .scratch = scratch};
}

template <class Rule, class T>
struct ForwardElement {
  using Parameters = torch::Parameters;
  QuantizerList list;
  Grid grid;

  HS_HOST_DEVICE Parameters single() const { return list.single(); }
  HS_HOST_DEVICE Parameters parameters(int64_t channel) const { return list.at(channel); }
  HS_HOST_DEVICE T operator()(const Parameters& p, T x) const {
    return cuda::narrowed<T>(fake_quantize<Rule>(cuda::widened(x), p, grid));
  }
};

template <class Rule, class T>
struct BackwardElement {
  using Parameters = torch::Parameters;
  QuantizerList list;
  Grid grid;

  HS_HOST_DEVICE Parameters single() const { return list.single(); }
  HS_HOST_DEVICE Parameters parameters(int64_t channel) const { return list.at(channel); }
  HS_HOST_DEVICE T operator()(const Parameters& p, T x, T out_grad) const {
    const bool inside = is_inside(Rule::code(cuda::widened(x), p), grid);
    return cuda::narrowed<T>(masked(cuda::widened(out_grad), inside));
  }
};

}  // namespace halfstep::kernels::torch
