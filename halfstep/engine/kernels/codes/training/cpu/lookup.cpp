// Pointwise functions of one-byte codes. Tables have an entry for every byte of x.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/training/cpu/lookup.cpp"
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/training/lookup.h"
#include "halfstep/engine/kernels/common/byte_table.h"
#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::training::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// grads[i] = out_grads[i] * slopes[bytes[i]], and 0 if the slope is 0. grads may equal out_grads.
void multiply_slopes(const float* slopes, const uint8_t* bytes, int64_t size, const float* out_grads, float* grads) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<int32_t, decltype(d)> indices;
  const hn::Rebind<uint8_t, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto slope = hn::GatherIndex(d, slopes, hn::PromoteTo(indices, hn::LoadU(narrow, bytes + i)));
    const auto product = hn::LoadU(d, out_grads + i) * slope;
    hn::StoreU(hn::IfThenZeroElse(hn::Eq(slope, hn::Zero(d)), product), d, grads + i);
  }
  for (; i < size; ++i) grads[i] = slopes[bytes[i]] == 0.0F ? 0.0F : out_grads[i] * slopes[bytes[i]];
}

}  // namespace halfstep::kernels::training::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace training {
namespace {

constexpr int64_t kBytes = 256;

Verdict accept_bytes(const Problem& problem, std::initializer_list<const Type*> codes) {
  for (const Type* type : codes) {
    if (is_wide(type->dtype))
      return refuse(errors::kernel_takes_other_types("codes", name(type->dtype), "codes of one byte"));
  }
  return accept_simd(problem);
}

int64_t code_of_byte(int64_t byte, DType type) { return is_signed(type) ? int64_t{static_cast<int8_t>(byte)} : byte; }

struct LookupState {
  LookupRule rule;
  LookUpBytes look_up;
};

Verdict accept_quantized_lookup(const Problem& problem) {
  if (Verdict verdict = accept_lookup(problem); !verdict) return verdict;
  return accept_bytes(problem, {problem.in[QuantizedLookup::in::x], problem.out[0]});
}

Plan prepare_quantized_lookup(const Problem& problem) {
  const LookupState state{LookupRule(problem.attributes), look_up_bytes(problem.level)};
  return {.state = std::make_shared<LookupState>(state),
          .scratch = kBytes,
          .phases = {1, pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run_quantized_lookup(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<LookupState>(call);
  const ConstView& x = call.in[QuantizedLookup::in::x];
  auto* table = reinterpret_cast<uint8_t*>(call.scratch);
  if (phase == 0) {
    for (int64_t byte = 0; byte < kBytes; ++byte)
      table[byte] = static_cast<uint8_t>(state.rule.code(call, code_of_byte(byte, x.dtype)));
    return {};
  }
  const int64_t begin = piece * kPieceElements, size = std::min(x.size() - begin, kPieceElements);
  state.look_up(table, x.as<const uint8_t>() + begin, call.out[0].as<uint8_t>() + begin, size, false);
  return {};
}

struct GradState {
  LookupGradRule rule;
  decltype(&N_AVX2::multiply_slopes) multiply;
};

/// Layout of scratch: slopes of every byte, and the pieces' sums for the scale.
struct GradTables {
  explicit GradTables(std::byte* scratch)
      : scale(reinterpret_cast<double*>(scratch)),
        x(reinterpret_cast<float*>(scale + kBytes)),
        sums(reinterpret_cast<double*>(x + kBytes)) {}
  static size_t bytes(int64_t pieces) {
    return kBytes * (sizeof(double) + sizeof(float)) + static_cast<size_t>(pieces) * sizeof(double);
  }
  double* scale;
  float* x;
  double* sums;
};

Verdict accept_grad(const Problem& problem) {
  if (Verdict verdict = accept_lookup_grad(problem); !verdict) return verdict;
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  return accept_bytes(problem, {problem.in[LookupGrad::in::x]});
}

Plan prepare_grad(const Problem& problem) {
  const GradState state{LookupGradRule(problem.attributes), HS_SIMD_CHOOSE(problem.level, multiply_slopes)};
  const int64_t pieces = pieces_of(count_elements(problem.out[0]->dims));
  return {.state = std::make_shared<GradState>(state),
          .scratch = GradTables::bytes(pieces),
          .phases = {1, pieces, 1},
          .in_place = InPlace::overwrite};
}

void fill(const LookupGradRule& rule, const Call& call, const GradTables& tables) {
  for (int64_t byte = 0; byte < kBytes; ++byte) {
    const LookupSlopes slopes = rule.slopes(call, code_of_byte(byte, call.in[LookupGrad::in::x].dtype));
    tables.x[byte] = slopes.x;
    tables.scale[byte] = slopes.scale;
  }
}

/// A fixed scale has a gradient scale of 0.
Status run_grad(const Call& call, int phase, int64_t piece) {
  using In = LookupGrad::in;
  using Out = LookupGrad::out;
  const auto& state = state_of<GradState>(call);
  const double gradient_scale = state.rule.attributes.gradient_scale;
  const GradTables tables(call.scratch);
  const ConstView& x = call.in[In::x];
  if (phase == 0) {
    fill(state.rule, call, tables);
    return {};
  }
  if (phase == 2) {
    double sum = 0.0;
    for (int64_t i = 0; gradient_scale != 0.0 && i < pieces_of(x.size()); ++i) sum += tables.sums[i];
    *call.out[Out::scale_grad].as<float>() = static_cast<float>(gradient_scale * sum);
    return {};
  }
  const int64_t begin = piece * kPieceElements, size = std::min(x.size() - begin, kPieceElements);
  const auto* bytes = x.as<const uint8_t>() + begin;
  const auto* out_grads = call.in[In::out_grad].as<const float>() + begin;
  double sum = 0.0;
  for (int64_t i = 0; gradient_scale != 0.0 && i < size; ++i)
    sum += static_cast<double>(out_grads[i]) * tables.scale[bytes[i]];
  tables.sums[piece] = sum;
  state.multiply(tables.x, bytes, size, out_grads, call.out[Out::x_grad].as<float>() + begin);
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_lookup_bytes{"bytes", training::accept_quantized_lookup,
                                               training::prepare_quantized_lookup, training::run_quantized_lookup};
extern const Kernel cpu_lookup_grad_bytes{"bytes", training::accept_grad, training::prepare_grad, training::run_grad};

}  // namespace halfstep::kernels
#endif
