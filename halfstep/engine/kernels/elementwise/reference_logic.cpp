// Comparisons, conditions and bits.
#include "halfstep/engine/kernels/elementwise/walk.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace elementwise {
namespace {

struct EqualTo {
  template <class T>
  bool operator()(T a, T b) const {
    return widen(a) == widen(b);
  }
};
struct Above {
  template <class T>
  bool operator()(T a, T b) const {
    return widen(a) > widen(b);
  }
};
struct NotBelow {
  template <class T>
  bool operator()(T a, T b) const {
    return widen(a) >= widen(b);
  }
};
struct Below {
  template <class T>
  bool operator()(T a, T b) const {
    return widen(a) < widen(b);
  }
};
struct NotAbove {
  template <class T>
  bool operator()(T a, T b) const {
    return widen(a) <= widen(b);
  }
};
struct Both {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Either {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct OneOf {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};

/// Applies `Function` to operands of any type. The result is bool.
template <class Typed, class Function>
Status run_compare(const Call& call, int, int64_t piece) {
  const auto& walk = state_of<BroadcastState<Typed>>(call);
  with_plain(call.in[0].dtype, [&]<class T>() {
    map_two(walk.runs, call.in[0].as<const T>(), call.in[1].as<const T>(), call.out[0].as<bool>(), piece, Function());
  });
  return {};
}

/// Applies `Function` to bool or integers, whose sign does not matter.
template <class Typed, class Function>
Status run_bits(const Call& call, int, int64_t piece) {
  const auto& walk = state_of<BroadcastState<Typed>>(call);
  with_bits(call.in[0].dtype, [&]<class T>() {
    map_two(walk.runs, call.in[0].as<const T>(), call.in[1].as<const T>(), call.out[0].as<T>(), piece, Function());
  });
  return {};
}

/// Shifts in the widest type of equal sign. Only the bits of T count.
template <class T>
T shifted(T a, T b, bool left) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  constexpr Wide kBits = 8 * sizeof(T);
  const bool beyond = b < T(0) || static_cast<Wide>(b) >= kBits;
  if (left) return beyond ? T(0) : static_cast<T>(static_cast<uint64_t>(a) << static_cast<int>(b));
  return static_cast<T>(static_cast<Wide>(a) >> (beyond ? static_cast<int>(kBits) - 1 : static_cast<int>(b)) >>
                        (beyond && !std::is_signed_v<T> ? 1 : 0));
}

Status run_shift(const Call& call, int, int64_t piece) {
  const auto& walk = state_of<BroadcastState<BitShift>>(call);
  const bool left = walk.attributes.direction == "LEFT";
  with_whole(call.in[0].dtype, [&]<class T>() {
    map_two(walk.runs, call.in[0].as<const T>(), call.in[1].as<const T>(), call.out[0].as<T>(), piece,
            [left](T a, T b) { return shifted(a, b, left); });
  });
  return {};
}

Plan prepare_unary(const Problem& problem) {
  Plan plan;
  plan.phases = {pieces(count_elements(problem.out[0]->dims))};
  return plan;
}

Status run_logical_not(const Call& call, int, int64_t piece) {
  map_one(call.in[0].as<const bool>(), call.out[0].as<bool>(), call.out[0].size(), piece, [](bool x) { return !x; });
  return {};
}

Status run_bitwise_not(const Call& call, int, int64_t piece) {
  with_bits(call.in[0].dtype, [&]<class T>() {
    map_one(call.in[0].as<const T>(), call.out[0].as<T>(), call.out[0].size(), piece,
            [](T x) { return static_cast<T>(~x); });
  });
  return {};
}

Status run_is_nan(const Call& call, int, int64_t piece) {
  with_any_float(call.in[0].dtype, [&]<class T>() {
    map_one(call.in[0].as<const T>(), call.out[0].as<bool>(), call.out[0].size(), piece,
            [](T x) { return std::isnan(widen(x)); });
  });
  return {};
}

Status run_is_inf(const Call& call, int, int64_t piece) {
  const auto& [runs, a] = state_of<BroadcastState<IsInf>>(call);
  with_any_float(call.in[0].dtype, [&]<class T>() {
    map_one(call.in[0].as<const T>(), call.out[0].as<bool>(), call.out[0].size(), piece,
            [positive = a.detect_positive, negative = a.detect_negative](T value) {
              const auto x = widen(value);
              return std::isinf(x) && (x > 0 ? positive : negative);
            });
  });
  return {};
}

}  // namespace
}  // namespace elementwise

using namespace elementwise;  // NOLINT: only for the table below

extern const Kernel reference_equal{"reference", accept_all, prepare<Equal>, run_compare<Equal, EqualTo>};
extern const Kernel reference_greater{"reference", accept_all, prepare<Greater>, run_compare<Greater, Above>};
extern const Kernel reference_greater_or_equal{"reference", accept_all, prepare<GreaterOrEqual>,
                                               run_compare<GreaterOrEqual, NotBelow>};
extern const Kernel reference_less{"reference", accept_all, prepare<Less>, run_compare<Less, Below>};
extern const Kernel reference_less_or_equal{"reference", accept_all, prepare<LessOrEqual>,
                                            run_compare<LessOrEqual, NotAbove>};
extern const Kernel reference_logical_and{"reference", accept_all, prepare<LogicalAnd>, run_bits<LogicalAnd, Both>};
extern const Kernel reference_logical_or{"reference", accept_all, prepare<LogicalOr>, run_bits<LogicalOr, Either>};
extern const Kernel reference_logical_xor{"reference", accept_all, prepare<LogicalXor>, run_bits<LogicalXor, OneOf>};
extern const Kernel reference_bitwise_and{"reference", accept_all, prepare<BitwiseAnd>, run_bits<BitwiseAnd, Both>};
extern const Kernel reference_bitwise_or{"reference", accept_all, prepare<BitwiseOr>, run_bits<BitwiseOr, Either>};
extern const Kernel reference_bitwise_xor{"reference", accept_all, prepare<BitwiseXor>, run_bits<BitwiseXor, OneOf>};
extern const Kernel reference_bit_shift{"reference", accept_all, prepare<BitShift>, run_shift};
extern const Kernel reference_logical_not{"reference", accept_all, prepare_unary, run_logical_not};
extern const Kernel reference_bitwise_not{"reference", accept_all, prepare_unary, run_bitwise_not};
extern const Kernel reference_is_nan{"reference", accept_all, prepare_unary, run_is_nan};
extern const Kernel reference_is_inf{"reference", accept_all, prepare<IsInf>, run_is_inf};

}  // namespace halfstep::kernels
