// Convolutions and their gradients of x through oneDNN. Constant weights are packed when the Program is compiled,
// others in a separate phase. Then every piece is one call.
#include <memory>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/image/conv/cpu/cut.h"
#include "halfstep/engine/kernels/image/conv/cpu/onednn_problem.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

using Pass = ConvCut::Pass;

/// Weights of one part in the layout of the primitive for whole blocks or for the tail.
struct Packing {
  bool tail;
  int64_t part;
  size_t offset;
};

struct ConvState {
  ConvCut cut;
  ConvGeometry geometry;
  Activation activation = {};
  onednn::Convolution body = {}, tail = {};
  std::vector<Packing> packings = {};
  size_t packed_bytes = 0;
  Tensor packed = {};  ///< packed constant weights

  const onednn::Convolution& primitive(bool of_tail) const { return of_tail ? tail : body; }

  void add_packings(bool of_tail) {
    const size_t bytes = primitive(of_tail).packed_bytes();
    if (bytes == 0) return;
    for (int64_t part = 0; part < cut.parts(); ++part) {
      packings.push_back({of_tail, part, packed_bytes});
      packed_bytes += aligned(bytes);
    }
  }

  Status pack(const Packing& packing, const float* weights, std::byte* to, std::byte* worker_scratch) const {
    return primitive(packing.tail).pack(weights + cut.weights_of(packing.part), to + packing.offset, worker_scratch);
  }

  const void* weights_of(const ConvCut::Place& place, const float* plain, const std::byte* scratch) const {
    for (const Packing& packing : packings) {
      if (packing.tail == place.tail && packing.part == place.part)
        return (packed.defined() ? packed.raw() : scratch) + packing.offset;
    }
    return plain + place.weights;
  }
};

void pack_constant(ConvState& state, const Tensor& constant, size_t worker_scratch) {
  const Tensor weights = constant.in_memory();
  state.packed = Tensor(DType::u8, {static_cast<int64_t>(state.packed_bytes)});
  Tensor scratch(DType::u8, {static_cast<int64_t>(worker_scratch)});
  for (const Packing& packing : state.packings) {
    Status status = state.pack(packing, weights.data<float>().data(), state.packed.raw(), scratch.raw());
    if (!status.ok()) fail(status.diagnostic());
  }
}

/// `bias`: oneDNN adds it.
template <class Typed>
Plan plan_of(const Problem& problem, Pass pass, bool bias, Activation activation = {}) {
  constexpr size_t weights = Typed::in::w;
  const ConvGeometry g = geometry_of(window_of<Typed>(problem, pass));
  auto state = std::make_shared<ConvState>(ConvCut(pass, g), g, activation);
  state->body = onednn::Convolution(state->cut.spec(false, bias));
  state->add_packings(false);
  size_t worker_scratch = state->body.scratch();
  if (state->cut.has_tail()) {
    state->tail = onednn::Convolution(state->cut.spec(true, bias));
    state->add_packings(true);
    worker_scratch = std::max(worker_scratch, state->tail.scratch());
  }
  Plan plan{.state = state, .worker_scratch = worker_scratch, .phases = {state->cut.pieces()}};
  if (state->packings.empty()) return plan;
  if (const Tensor* constant = problem.constants[weights]; constant != nullptr) {
    if (problem.runs) pack_constant(*state, *constant, worker_scratch);
    plan.packed = {weights};
  } else {
    plan.scratch = state->packed_bytes;
    plan.phases.insert(plan.phases.begin(), static_cast<int64_t>(state->packings.size()));
  }
  return plan;
}

/// Whether this phase packs weights.
bool packs(const ConvState& state, int phase) {
  return phase == 0 && !state.packings.empty() && !state.packed.defined();
}

template <class Typed>
const float* bias_of(const Call& call) {
  if constexpr (requires { Typed::in::b; }) return call.in[Typed::in::b].template as<const float>();
  return nullptr;
}

template <class Typed>
Plan prepare_forward(const Problem& problem) {
  Activation activation;
  if constexpr (requires { Typed::activation; }) {
    const Typed a(problem.attributes);
    activation = Activation::of(a.activation, a.alpha);
  }
  bool bias = false;
  if constexpr (requires { Typed::in::b; }) bias = problem.in[Typed::in::b] != nullptr;
  return plan_of<Typed>(problem, Pass::forward, bias, activation);
}

template <class Typed>
Plan prepare_grad_x(const Problem& problem) {
  return plan_of<Typed>(problem, Pass::grad_x, false);
}

Verdict accept_plain(const Problem& problem) {
  if (FusedConv2d(problem.attributes).layout != "channels_first")
    return refuse(errors::kernel_needs_layout("channels before the axes of the image"));
  if (problem.in[FusedConv2d::in::residual] != nullptr)
    return refuse(errors::kernel_is_for_other_options("a residual", "none"));
  return onednn::accept_f32(problem);
}

template <class Typed>
Status run_forward(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<ConvState>(call);
  const auto* weights = call.in[Typed::in::w].template as<const float>();
  if (packs(state, phase)) return state.pack(state.packings[piece], weights, call.scratch, call.worker_scratch);
  const ConvCut::Place place = state.cut.place(piece);
  const float* bias = bias_of<Typed>(call);
  auto* dst = call.out[0].as<float>() + place.out;
  Status status = state.primitive(place.tail)
                      .forward(call.in[0].as<const float>() + place.x, state.weights_of(place, weights, call.scratch),
                               bias == nullptr ? nullptr : bias + place.bias, dst, call.worker_scratch);
  if (!status.ok()) return status;
  for (int64_t n = 0; n < place.images; ++n)
    state.activation.apply(dst + n * state.geometry.out_image(), state.cut.part_out() * state.geometry.out_plane());
  return {};
}

/// Adds the bias of a transposed convolution to the images of a piece.
void add_bias(const ConvState& state, const ConvCut::Place& place, const float* bias, float* dst) {
  const int64_t plane = state.geometry.x_plane();
  for (int64_t n = 0; n < place.images; ++n, dst += state.geometry.x_image()) {
    for (int64_t i = 0; i < state.cut.part_in() * plane; ++i) dst[i] += bias[place.bias + i / plane];
  }
}

template <class Typed>
Status run_grad_x(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<ConvState>(call);
  const auto* weights = call.in[Typed::in::w].template as<const float>();
  if (packs(state, phase)) return state.pack(state.packings[piece], weights, call.scratch, call.worker_scratch);
  const ConvCut::Place place = state.cut.place(piece);
  auto* dst = call.out[0].as<float>() + place.x;
  Status status = state.primitive(place.tail)
                      .grad_x(call.in[0].as<const float>() + place.out, state.weights_of(place, weights, call.scratch),
                              dst, call.worker_scratch);
  if (const float* bias = bias_of<Typed>(call); status.ok() && bias != nullptr) add_bias(state, place, bias, dst);
  return status;
}

}  // namespace

extern const Kernel cpu_conv_onednn{"onednn", accept_convolution<Conv, Pass::forward>, prepare_forward<Conv>,
                                    run_forward<Conv>};
extern const Kernel cpu_conv2d_onednn{"onednn", onednn::accept_f32, prepare_forward<Conv2d>, run_forward<Conv2d>};
extern const Kernel cpu_fused_conv2d_onednn{"onednn", accept_plain, prepare_forward<FusedConv2d>,
                                            run_forward<FusedConv2d>};
extern const Kernel cpu_conv_transpose_grad_x_onednn{"onednn", accept_convolution<ConvTransposeGradX, Pass::forward>,
                                                     prepare_forward<ConvTransposeGradX>,
                                                     run_forward<ConvTransposeGradX>};
extern const Kernel cpu_conv_grad_x_onednn{"onednn", accept_convolution<ConvGradX, Pass::grad_x>,
                                           prepare_grad_x<ConvGradX>, run_grad_x<ConvGradX>};
extern const Kernel cpu_conv2d_grad_x_onednn{"onednn", onednn::accept_f32, prepare_grad_x<Conv2dGradX>,
                                             run_grad_x<Conv2dGradX>};
extern const Kernel cpu_conv_transpose_onednn{"onednn", accept_convolution<ConvTranspose, Pass::grad_x>,
                                              prepare_grad_x<ConvTranspose>, run_grad_x<ConvTranspose>};

}  // namespace halfstep::kernels
