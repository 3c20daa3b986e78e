// The loop of a pointwise kernel, and its functions on vectors. Included once for each target of Highway.
#if defined(HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#undef HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#else
#define HALFSTEP_KERNELS_POINTWISE_SIMD_INL_H
#endif

#include <cstring>
#include <utility>

#include "halfstep/engine/kernels/common/simd/exponential-inl.h"
#include "halfstep/engine/kernels/common/simd/highway.h"
#include "halfstep/engine/kernels/elementwise/simd.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::elementwise::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using exponential::HWY_NAMESPACE::exp_in_range;
using exponential::HWY_NAMESPACE::polynomial;
using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;
using Mask = hn::Mask<Tag>;

/// A literal or an attribute, rounded to f32 once.
template <class T>
Vector number(Tag d, T value) {
  return hn::Set(d, static_cast<float>(value));
}
inline Mask mask(Tag d, bool value) { return hn::FirstN(d, value ? hn::Lanes(d) : 0); }
/// True if either is NaN, like != on numbers. Highway's Ne is false there.
inline Mask unequal(Vector a, Vector b) { return hn::Not(hn::Eq(a, b)); }
inline Vector min_of(Vector a, Vector b) { return hn::IfThenElse(hn::Lt(b, a), b, a); }
inline Vector max_of(Vector a, Vector b) { return hn::IfThenElse(hn::Gt(b, a), b, a); }

/// Highway's Exp is exact to one ulp up to 104, where f32 is already infinite. It turns NaN into 0.
inline Vector exp_of(Tag d, Vector x) {
  const Vector exp = hn::Exp(d, hn::Min(x, hn::Set(d, 104.0f)));
  return hn::IfThenElse(hn::Eq(x, x), exp, x);
}
inline Vector sigmoid_of(Tag d, Vector x) {
  const Vector one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp_of(d, hn::Neg(x))));
}
#if HWY_TARGET == HWY_AVX3
/// erf(x) with an error below 1.8e-7. It is x times a polynomial of degree 4, with one polynomial for each eighth below
/// 4, and 1 from 4 on. The polynomials approximate erf(x) / x with the least maximum relative error (Lawson's weights
/// on Chebyshev points). Before rounding the error is 2e-9.
inline Vector erf_of(Tag d, Vector x) {
  alignas(64) static constexpr float kPowers[5][32] = {
      {1.12837923F,  1.12252963F,  1.10530555F,  1.07764506F,  1.04099977F,  0.997185409F, 0.948207498F, 0.896085799F,
       0.842700779F, 0.789678454F, 0.738320112F, 0.689578235F, 0.644070089F, 0.602119207F, 0.563812375F, 0.529061377F,
       0.497661144F, 0.469339281F, 0.44379434F,  0.420722961F, 0.399837226F, 0.380874157F, 0.363599777F, 0.347809434F,
       0.333325982F, 0.319996834F, 0.307690978F, 0.296295762F, 0.28571406F,  0.275861979F, 0.266666651F, 0.258064508F},
      {2.79376042e-08F, -0.0116442861F, -0.0226455908F, -0.0324306116F, -0.0405541472F, -0.046737045F,
       -0.0508793071F,  -0.0530486181F, -0.0534491427F, -0.0523782857F, -0.0501799323F, -0.0472017266F,
       -0.0437617041F,  -0.0401267372F, -0.0365027115F, -0.0330344029F, -0.0298121572F, -0.0268822759F,
       -0.0242584534F,  -0.0219324511F, -0.0198829472F, -0.0180822015F, -0.0165006109F, -0.0151095288F,
       -0.0138827777F,  -0.0127972802F, -0.0118331444F, -0.0109734433F, -0.0102038793F, -0.00951240491F,
       -0.00888885744F, -0.00832465012F},
      {-0.00587717956F, -0.00571386144F, -0.00524085015F, -0.00450893119F, -0.00359359011F, -0.00258328998F,
       -0.00156668783F, -0.00062124047F, 0.000194917768F, 0.000846867973F, 0.00132262625F,  0.00162957597F,
       0.00178893667F,  0.00182968308F,  0.00178305793F,  0.00167839567F,  0.00154051872F,  0.00138859975F,
       0.00123615598F,  0.00109176396F,  0.000960113364F, 0.000843109214F, 0.000740848016F, 0.000652379997F,
       0.0005762527F,   0.000510860817F, 0.000454648747F, 0.000406210951F, 0.00036432856F,  0.00032796993F,
       0.000296273676F, 0.000268525328F},
      {5.02801811e-07F,  0.00010991298F,   0.000207251986F,  0.00028252945F,   0.000329294911F,  0.00034541724F,
       0.000332992437F,  0.000297486666F,  0.00024639006F,   0.000187732265F,  0.00012878592F,   7.51717598e-05F,
       3.04597761e-05F,  -3.78772825e-06F, -2.76550363e-05F, -4.23546517e-05F, -4.96959146e-05F, -5.16410073e-05F,
       -4.99965718e-05F, -4.62448115e-05F, -4.14893912e-05F, -3.64764674e-05F, -3.16621336e-05F, -2.72851303e-05F,
       -2.3439803e-05F,  -2.0132773e-05F,  -1.73239532e-05F, -1.49532643e-05F, -1.29563823e-05F, -1.1272904e-05F,
       -9.84982489e-06F, -8.64236608e-06F},
      {2.71215704e-05F,  2.41600046e-05F,  1.87247642e-05F,  1.16845131e-05F,  4.1025055e-06F,   -2.97739098e-06F,
       -8.71934571e-06F, -1.26172336e-05F, -1.4530352e-05F,  -1.4639405e-05F,  -1.33475496e-05F, -1.11595336e-05F,
       -8.5722595e-06F,  -5.99544728e-06F, -3.71177134e-06F, -1.87264948e-06F, -5.19080629e-07F, 3.85210825e-07F,
       9.19352658e-07F,  1.17683965e-06F,  1.24630606e-06F,  1.20019399e-06F,  1.09319365e-06F,  9.61622163e-07F,
       8.27717201e-07F,  7.0341008e-07F,   5.93883328e-07F,  5.00322699e-07F,  4.21819976e-07F,  3.56564669e-07F,
       3.0251914e-07F,   2.57755204e-07F}};
  const Vector one = hn::Set(d, 1.0f), size = hn::Abs(x);
  const Vector place = hn::Mul(hn::Min(hn::Set(d, 3.9999998f), size), hn::Set(d, 8.0f));  // NaN for NaN
  const __m512i eighth = _mm512_cvttps_epi32(place.raw);
  const Vector inside = hn::Sub(place, Vector{_mm512_cvtepi32_ps(eighth)});
  const auto coefficient = [&](int power) HWY_ATTR {
    const float* of_eighths = kPowers[power];
    return Vector{_mm512_permutex2var_ps(hn::Load(d, of_eighths).raw, eighth, hn::Load(d, of_eighths + 16).raw)};
  };
  Vector ratio = coefficient(4);
  ratio = hn::MulAdd(ratio, inside, coefficient(3));
  ratio = hn::MulAdd(ratio, inside, coefficient(2));
  ratio = hn::MulAdd(ratio, inside, coefficient(1));
  ratio = hn::MulAdd(ratio, inside, coefficient(0));
  const Vector erf = hn::Min(one, hn::Mul(size, ratio));  // NaN for NaN
  return hn::CopySign(hn::IfThenElse(hn::Ge(size, hn::Set(d, 4.0f)), one, erf), x);
}
#else
/// erf(x) with an error below 1.3e-7. Below 1, it is x times a polynomial of x^2. From there on it is 1 - exp(a
/// polynomial), which is 1 from 4 on. Both are fits of least maximum error (Lawson's weights on Chebyshev points) to
/// erf(x) / x and to log(1 - erf(x)). Before rounding, their errors of erf are 1.2e-9 and 2.1e-11.
inline Vector erf_of(Tag d, Vector x) {
  const Vector one = hn::Set(d, 1.0f), size = hn::Abs(x);
  const Vector near = hn::Mul(
      x, polynomial(d, hn::Mul(x, x), 1.1283791661357303F, -0.3761262713581432F, 0.11283600174481957F,
                    -0.026854444515708287F, 0.005189535191737631F, -0.0008020839963672967F, 0.00007889115135303585F));
  const Vector log_rest = polynomial(d, hn::Min(size, hn::Set(d, 4.0f)), 0.00018804366831748354F, -1.1295784396934043F,
                                     -0.633219863962699F, -0.10841860730300389F, 0.025208274881097427F,
                                     -0.004204568332621584F, 0.0004413376284210553F, -0.00002168695170924746F);
  const Vector far = hn::Sub(one, exp_in_range(d, log_rest));
  const Vector erf = hn::IfThenElse(hn::Lt(size, one), near, hn::CopySign(far, x));
  return hn::IfThenElse(hn::Eq(x, x), erf, x);
}
#endif

/// Applies a function that exists only for numbers to each lane.
inline Vector each(Tag d, float (*function)(float), Vector x) {
  float lanes[kMostLanes];
  hn::StoreU(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = function(lanes[i]);
  return hn::LoadU(d, lanes);
}
inline Vector each(Tag d, float (*function)(float, float), Vector x, Vector y) {
  float lanes[kMostLanes], others[kMostLanes];
  hn::StoreU(x, d, lanes);
  hn::StoreU(y, d, others);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = function(lanes[i], others[i]);
  return hn::LoadU(d, lanes);
}

template <size_t N, class Function, size_t... I>
void map_row(const Row<N>& row, const Function& function, std::index_sequence<I...>) {
  const Tag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t at = 0;
  for (; at + lanes <= row.size; at += lanes)
    hn::StoreU(function(d, hn::LoadU(d, row.src[I] + at * row.step[I])...), d, row.dst + at);
  if (at == row.size) return;
  // The rest is computed in whole vectors too, so that its bits do not depend on the end of a run.
  const auto left = static_cast<size_t>(row.size - at) * sizeof(float);
  float rest[N][kMostLanes] = {};
  (std::memcpy(rest[I], row.src[I] + at * row.step[I], left), ...);
  float result[kMostLanes];
  hn::StoreU(function(d, hn::LoadU(d, rest[I])...), d, result);
  std::memcpy(row.dst + at, result, left);
}

/// dst = function(d, src...), vector by vector.
template <size_t N, class Function>
void map(const Row<N>& row, const Function& function) {
  map_row(row, function, std::make_index_sequence<N>());
}

}  // namespace halfstep::kernels::elementwise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
