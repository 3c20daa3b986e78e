// Pointwise kernels around a function object. opgen generates Function, and the number of its operands, from a record's
// `compute`.
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

/// Element types for which a pointwise operator is defined.
enum class Elements { floats, signed_numbers, numbers };

/// Type in which integers are computed. No intermediate result of a narrower type wraps before the end. The file that
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

/// Calls body.template operator()<T>() with the element type of `dtype`, one of those of `elements`.
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

/// Whether all operands and the result have this dtype.
inline bool all_are(const Problem& problem, DType dtype) {
  const auto is = [dtype](const Type* type) { return type->dtype == dtype; };
  return std::all_of(problem.in.begin(), problem.in.end(), is) && is(problem.out[0]);
}

/// State of a kernel: its function object, whose type only its loop knows, and the runs of the operands.
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

/// Computes all elements of a piece, for any number of operands. The code that reads and writes a type is compiled
/// once, not once for each operator.
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

/// Computes one element at a time. Every step is rounded in the operands' own type. Half precision is computed in
/// float, and its result is rounded once more.
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
