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

/// What a kernel keeps: its function object, whose type only its loop knows, and how the operands walk.
struct PointwiseState {
  std::shared_ptr<const void> function;
  Runs runs;

  template <class Function>
  static PointwiseState of(const Problem& problem) {
    return {std::make_shared<const Function>(problem.attributes), Runs(problem.in, problem.out[0]->dims)};
  }
};

template <class State>
Plan plan_of(State&& state) {
  const int64_t count = pieces(state.runs.size());
  return {.state = std::make_shared<State>(std::move(state)), .phases = {count}};
}

/// Elements that are read, computed and written at once.
inline constexpr int64_t kBlock = 256;
inline constexpr size_t kMostOperands = 3;

template <class C>
using Block = std::array<C, kBlock>;
/// dst[i] = function(src[0][i], src[1][i], ...) for i below `count`.
template <class C>
using BlockLoop = void (*)(const void* function, const Block<C>* src, int64_t count, Block<C>& dst);

template <class Function, class C, size_t... I>
void compute_block(const void* function, const Block<C>* src, int64_t count, Block<C>& dst) {
  const auto& f = *static_cast<const Function*>(function);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) dst[i] = f(src[I][i]...);
}

template <class Function, class C, size_t... I>
constexpr BlockLoop<C> block_loop(std::index_sequence<I...>) {
  return &compute_block<Function, C, I...>;
}

/// All elements of a piece, for operators of any number of operands: reading and writing a type is compiled once, not
/// once for each operator.
template <class T>
void compute_piece(const PointwiseState& state, size_t operands, const Call& call, int64_t piece,
                   BlockLoop<Computed<T>> loop) {
  using C = Computed<T>;
  const Runs& runs = state.runs;
  const int64_t begin = piece * kPiece;
  T* dst = call.out[0].as<T>() + begin;
  Block<C> src[kMostOperands], result;
  runs.for_each(begin, std::min(begin + kPiece, runs.size()), [&](int64_t run, int64_t first, int64_t size) {
    for (int64_t at = 0; at < size; at += kBlock) {
      const int64_t count = std::min(kBlock, size - at);
      for (size_t k = 0; k < operands; ++k) {
        const int64_t step = runs.step(k);
        const T* from = call.in[k].template as<const T>() + runs.offset(k, run) + (first + at) * step;
        for (int64_t i = 0; i < count; ++i) src[k][static_cast<size_t>(i)] = static_cast<C>(from[i * step]);
      }
      loop(state.function.get(), src, count, result);
      for (int64_t i = 0; i < count; ++i) *dst++ = static_cast<T>(result[static_cast<size_t>(i)]);
    }
  });
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
  static Plan prepare(const Problem& problem) { return plan_of(PointwiseState::of<Function>(problem)); }
  static Status run(const Call& call, int, int64_t piece) {
    static_assert(N <= kMostOperands);
    with_element<elements>(call.out[0].dtype, [&]<class T>() {
      compute_piece<T>(state_of<PointwiseState>(call), N, call, piece,
                       block_loop<Function, Computed<T>>(std::make_index_sequence<N>()));
    });
    return {};
  }
};

template <class Function, size_t N, Elements elements>
constexpr Kernel reference() {
  using K = Reference<Function, N, elements>;
  return {"reference", K::accept, K::prepare, K::run};
}

}  // namespace halfstep::kernels::elementwise
