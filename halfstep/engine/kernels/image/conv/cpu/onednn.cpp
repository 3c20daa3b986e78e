// conv2d, fused_conv2d and conv2d_grad_x through oneDNN. Constant weights are packed when the Program is compiled,
// others in a separate phase. Then every piece is one call.
#include <memory>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/image/conv/cpu/cut.h"
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

Plan plan_of(const Problem& problem, const ConvGeometry& g, Pass pass, bool bias, Activation activation,
             size_t weights) {
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
Plan prepare_forward(const Problem& problem) {
  const Typed a(problem.attributes);
  const ConvGeometry g =
      conv_geometry(a, problem.in[Typed::in::x]->dims, problem.in[Typed::in::w]->dims, problem.out[0]->dims);
  Activation activation;
  if constexpr (requires { a.activation; }) activation = Activation::of(a.activation, a.alpha);
  return plan_of(problem, g, Pass::forward, problem.in[Typed::in::b] != nullptr, activation, Typed::in::w);
}

Verdict accept_plain(const Problem& problem) {
  if (FusedConv2d(problem.attributes).layout != "channels_first")
    return refuse(errors::kernel_needs_layout("channels before the axes of the image"));
  if (problem.in[FusedConv2d::in::residual] != nullptr)
    return refuse(errors::kernel_is_for_other_options("a residual", "none"));
  return onednn::accept_f32(problem);
}

Plan prepare_grad_x(const Problem& problem) {
  using In = Conv2dGradX::in;
  const ConvGeometry g = conv_geometry(Conv2dGradX(problem.attributes), problem.out[0]->dims, problem.in[In::w]->dims,
                                       problem.in[In::out_grad]->dims);
  return plan_of(problem, g, Pass::grad_x, false, {}, In::w);
}

Status run_forward(const Call& call, int phase, int64_t piece) {
  using In = Conv2d::in;
  const auto& state = state_of<ConvState>(call);
  const auto* weights = call.in[In::w].as<const float>();
  if (packs(state, phase)) return state.pack(state.packings[piece], weights, call.scratch, call.worker_scratch);
  const ConvCut::Place place = state.cut.place(piece);
  const auto* bias = call.in[In::b].as<const float>();
  auto* dst = call.out[0].as<float>() + place.out;
  Status status =
      state.primitive(place.tail)
          .forward(call.in[In::x].as<const float>() + place.x, state.weights_of(place, weights, call.scratch),
                   bias == nullptr ? nullptr : bias + place.bias, dst, call.worker_scratch);
  if (!status.ok()) return status;
  for (int64_t n = 0; n < place.images; ++n)
    state.activation.apply(dst + n * state.geometry.out_image(), state.cut.part_out() * state.geometry.out_plane());
  return {};
}

Status run_grad_x(const Call& call, int phase, int64_t piece) {
  using In = Conv2dGradX::in;
  const auto& state = state_of<ConvState>(call);
  const auto* weights = call.in[In::w].as<const float>();
  if (packs(state, phase)) return state.pack(state.packings[piece], weights, call.scratch, call.worker_scratch);
  const ConvCut::Place place = state.cut.place(piece);
  return state.primitive(place.tail)
      .grad_x(call.in[In::out_grad].as<const float>() + place.out, state.weights_of(place, weights, call.scratch),
              call.out[0].as<float>() + place.x, call.worker_scratch);
}

}  // namespace

extern const Kernel cpu_conv2d_onednn{"onednn", onednn::accept_f32, prepare_forward<Conv2d>, run_forward};
extern const Kernel cpu_fused_conv2d_onednn{"onednn", accept_plain, prepare_forward<FusedConv2d>, run_forward};
extern const Kernel cpu_conv2d_grad_x_onednn{"onednn", onednn::accept_f32, prepare_grad_x, run_grad_x};

}  // namespace halfstep::kernels
