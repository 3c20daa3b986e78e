// Pointwise functions of codes of one byte: a table for each result, over all codes that the byte can be.
#include <algorithm>
#include <array>
#include <memory>

#include "halfstep/kernels/codes/training/lookup.h"
#include "halfstep/kernels/common/codes.h"

namespace halfstep::kernels {
namespace {

/// By the bits of x's byte.
struct Tables {
  std::array<uint8_t, 256> codes;
  std::array<int32_t, 256> unclamped;
  std::array<float, 256> reals;
};

Verdict accept_bytes(const Problem& problem) {
  if (Verdict verdict = accept_lookup(problem); !verdict) return verdict;
  for (const Type* type : {problem.in[QuantizedLookup::in::x], problem.out[QuantizedLookup::out::out_]}) {
    if (is_wide(type->dtype))
      return refuse("its codes are {}, and this kernel has codes of one byte", name(type->dtype));
  }
  return accept();
}

Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<LookupRule>(problem.attributes),
          .scratch = sizeof(Tables),
          .phases = {1, pieces_of(count_elements(problem.out[0]->dims))}};
}

void fill(const LookupRule& rule, const Call& call, Tables& tables) {
  const bool negative = is_signed(call.in[QuantizedLookup::in::x].dtype);
  for (size_t bits = 0; bits < 256; ++bits) {
    const Requantized entry = rule.entry(call, negative ? static_cast<int8_t>(bits) : static_cast<int64_t>(bits));
    tables.codes[bits] = static_cast<uint8_t>(rule.clamp(entry.code));
    tables.unclamped[bits] = static_cast<int32_t>(entry.code);
    tables.reals[bits] = entry.real;
  }
}

Status run(const Call& call, int phase, int64_t piece) {
  using Out = QuantizedLookup::out;
  auto& tables = *reinterpret_cast<Tables*>(call.scratch);
  if (phase == 0) {
    fill(state_of<LookupRule>(call), call, tables);
    return {};
  }
  const ConstView& x = call.in[QuantizedLookup::in::x];
  const int64_t begin = piece * kPieceElements, size = std::min(x.size() - begin, kPieceElements);
  const auto* bits = x.as<const uint8_t>() + begin;
  auto* codes = call.out[Out::out_].as<uint8_t>() + begin;
  for (int64_t i = 0; i < size; ++i) codes[i] = tables.codes[bits[i]];
  if (!call.out[Out::unclamped].present()) return {};
  auto* unclamped = call.out[Out::unclamped].as<int32_t>() + begin;
  auto* reals = call.out[Out::real].as<float>() + begin;
  for (int64_t i = 0; i < size; ++i) unclamped[i] = tables.unclamped[bits[i]];
  for (int64_t i = 0; i < size; ++i) reals[i] = tables.reals[bits[i]];
  return {};
}

}  // namespace

extern const Kernel cpu_quantized_lookup_bytes{"bytes", accept_bytes, prepare, run};

}  // namespace halfstep::kernels
