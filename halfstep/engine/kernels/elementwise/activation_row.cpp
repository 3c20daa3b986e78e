#include "halfstep/engine/kernels/elementwise/activation_row.h"

namespace halfstep::kernels::elementwise {

// Loops of the generated kernels. Highway determines the names.
namespace N_AVX2 {  // NOLINT(readability-identifier-naming)
void gelu(const void* function, const Row<1>& row);
void silu(const void* function, const Row<1>& row);
}  // namespace N_AVX2
namespace N_AVX3 {  // NOLINT(readability-identifier-naming)
void gelu(const void* function, const Row<1>& row);
void silu(const void* function, const Row<1>& row);
}  // namespace N_AVX3

namespace {

void plain(const Activation& activation, float* values, int64_t size) { activation.apply(values, size); }

template <RowLoop<1> loop>
void on_vectors(const Activation&, float* values, int64_t size) {
  static const arith::functions::Gelu kExact({{"approximate", false}});
  loop(&kExact, {.src = {values}, .step = {1}, .dst = values, .size = size});
}

}  // namespace

ActivationRow activation_row(Activation::Kind kind, CpuLevel level) {
  const bool is_wide = level >= CpuLevel::avx512;
  if (level == CpuLevel::scalar) return plain;
  if (kind == Activation::Kind::gelu) return is_wide ? on_vectors<N_AVX3::gelu> : on_vectors<N_AVX2::gelu>;
  if (kind == Activation::Kind::silu) return is_wide ? on_vectors<N_AVX3::silu> : on_vectors<N_AVX2::silu>;
  return plain;
}

}  // namespace halfstep::kernels::elementwise
