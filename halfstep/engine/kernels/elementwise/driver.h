// Pointwise kernels around a function object: what opgen writes of a record's `compute` is Function and the number of
// its operands.
//
// A Function is made from Attributes and called with N numbers of one type.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/elementwise/runs.h"
#include "halfstep/engine/kernels/errors.h"

namespace halfstep::kernels::elementwise {

/// Element types that a pointwise operator is defined on.
enum class Elements { floats, signed_numbers, numbers };

/// What whole numbers are computed in: no intermediate result of a narrower type wraps before the end. The file that
/// instantiates this is compiled with wrapping arithmetic.
template <class T>
using Exact = std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>;
template <class T>
using Computed = std::conditional_t<std::is_integral_v<T>, Exact<T>, Compute<T>>;

constexpr bool has(Elements elements, DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16: return true;
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64: return elements != Elements::floats;
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64: return elements == Elements::numbers;
    default: return false;
  }
}

/// Calls body.template operator()<T>() with the type of an element that `elements` has.
template <Elements elements, class Body>
void with_element(DType dtype, Body&& body) {
  if constexpr (elements == Elements::numbers) {
    with_number(dtype, body);
  } else {
    if constexpr (elements == Elements::signed_numbers) {
      switch (dtype) {
        case DType::i8: return body.template operator()<int8_t>();
        case DType::i16: return body.template operator()<int16_t>();
        case DType::i32: return body.template operator()<int32_t>();
        case DType::i64: return body.template operator()<int64_t>();
        default: break;
      }
    }
    with_any_float(dtype, body);
  }
}

/// Whether all operands and the result have that dtype.
inline bool all_are(const Problem& problem, DType dtype) {
  const auto is = [dtype](const Type* type) { return type->dtype == dtype; };
  return std::all_of(problem.in.begin(), problem.in.end(), is) && is(problem.out[0]);
}

/// One element after the other, every step rounded in the operands' own type; of half precision in float, and the
/// result once more.
template <class Function, size_t N, Elements elements>
class Reference {
 public:
  static Verdict accept(const Problem& problem) {
    const DType dtype = problem.out[0]->dtype;
    if (has(elements, dtype) && all_are(problem, dtype)) return halfstep::accept();
    return refuse(errors::kernel_takes_other_types("the result", name(dtype), "a type that the operator computes in"));
  }
  static Plan prepare(const Problem& problem) {
    auto state = std::make_shared<State>(State{Function(problem.attributes), Runs(problem.in, problem.out[0]->dims)});
    const int64_t count = pieces(state->runs.size());
    return {.state = std::move(state), .phases = {count}};
  }
  static Status run(const Call& call, int, int64_t piece) {
    with_element<elements>(call.out[0].dtype, [&]<class T>() { compute<T>(call, piece); });
    return {};
  }

 private:
  struct State {
    Function function;
    Runs runs;
  };

  template <class T>
  static void compute(const Call& call, int64_t piece) {
    const auto& [function, runs] = state_of<State>(call);
    const int64_t begin = piece * kPiece;
    T* dst = call.out[0].as<T>() + begin;
    runs.for_each(begin, std::min(begin + kPiece, runs.size()), [&](int64_t run, int64_t first, int64_t count) {
      std::array<const T*, N> src;
      for (size_t i = 0; i < N; ++i)
        src[i] = call.in[i].template as<const T>() + runs.offset(i, run) + first * runs.step(i);
      for (int64_t e = 0; e < count; ++e) *dst++ = apply<T>(function, src, runs, e, std::make_index_sequence<N>());
    });
  }

  template <class T, size_t... I>
  static T apply(const Function& function, const std::array<const T*, N>& src, const Runs& runs, int64_t e,
                 std::index_sequence<I...>) {
    return static_cast<T>(function(static_cast<Computed<T>>(src[I][e * runs.step(I)])...));
  }
};

template <class Function, size_t N, Elements elements>
constexpr Kernel reference() {
  using K = Reference<Function, N, elements>;
  return {"reference", K::accept, K::prepare, K::run};
}

}  // namespace halfstep::kernels::elementwise
