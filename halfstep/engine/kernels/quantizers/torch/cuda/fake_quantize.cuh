// Fake quantizers without observer on CUDA: their plan, and one element forward and backward for cuda::map.
#pragma once

#include <memory>

#include "halfstep/engine/kernels/common/cuda/map.cuh"
#include "halfstep/engine/kernels/quantizers/torch/cuda/parameters.cuh"
#include "halfstep/engine/kernels/quantizers/torch/fake_quantize.h"

namespace halfstep::kernels::torch {

using QuantizerParameters = ChannelParameters<Parameters, ParameterSource>;
using QuantizerList = ParameterList<Parameters, ParameterSource>;

/// Plans the operator `Op`, a generated struct.
template <class Op>
Plan prepare_quantizer(const Problem& problem) {
  auto quantizer = std::make_shared<FakeQuantizer>(FakeQuantizer::of<Op>(problem));
  const size_t scratch = QuantizerParameters::scratch(quantizer->channels.count);
  return {.state = std::move(quantizer), .scratch = scratch};
}

/// Parameters of the elements, in the form of cuda::map.
struct ElementParameters {
  using Parameters = torch::Parameters;
  QuantizerList list;
  Grid grid;

  HS_HOST_DEVICE Parameters single() const { return list.single(); }
  HS_HOST_DEVICE Parameters parameters(int64_t channel) const { return list.at(channel); }
};

template <class Rule, class T>
struct ForwardElement : ElementParameters {
  HS_HOST_DEVICE T operator()(const Parameters& p, T x) const {
    return cuda::narrowed<T>(fake_quantize<Rule>(cuda::widened(x), p, grid));
  }
};

template <class Rule, class T>
struct BackwardElement : ElementParameters {
  HS_HOST_DEVICE T operator()(const Parameters& p, T x, T out_grad) const {
    const bool inside = is_inside(Rule::code(cuda::widened(x), p), grid);
    return cuda::narrowed<T>(masked(cuda::widened(out_grad), inside));
  }
};

/// Applies Element to every element of x, and of out_grad in a backward pass.
template <template <class Rule, class T> class Element>
Status run_elements(const Call& call) {
  const auto& quantizer = state_of<FakeQuantizer>(call);
  const Channels& channels = quantizer.channels;
  const QuantizerParameters parameters(quantizer.parameters(call), channels.count, call.scratch);
  with_any_float(quantizer.dtype, [&]<class T>() {
    const T* out_grad = quantizer.out_grad < 0 ? nullptr : call.in[quantizer.out_grad].as<const T>();
    with_rule(quantizer.rule, [&]<class Rule>() {
      cuda::map(channels.size(), cuda::Layout::of(channels), Element<Rule, T>{{parameters.list(), quantizer.grid}},
                call.out[0].as<T>(), call.in[quantizer.x].as<const T>(), out_grad);
    });
  });
  return parameters.check(quantizer);
}

}  // namespace halfstep::kernels::torch
