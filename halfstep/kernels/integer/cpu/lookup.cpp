// integer_lookup from bytes to bytes, as many at a time as a vector holds.
#include <algorithm>
#include <cstring>
#include <memory>

#include "halfstep/kernels/byte_table.h"
#include "halfstep/kernels/elements.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/simd_dispatch.h"

namespace halfstep::kernels {
namespace {

constexpr size_t kEntries = 256;

struct LookupState {
  elements::Walk walk;
  LookUpBytes look_up;
};

Verdict accept(const Problem& problem) {
  for (const Type* type : {problem.in[IntegerLookup::in::x], problem.in[IntegerLookup::in::table], problem.out[0]}) {
    if (type->dtype != DType::u8) return refuse("codes are {}, not u8", name(type->dtype));
  }
  return accept_simd(problem);
}

/// Phase 0 lengthens the table.
Plan prepare(const Problem& problem) {
  const int64_t size = count_elements(problem.out[0]->dims);
  const elements::Walk walk({1, 1, size}, size);
  return {.state = std::make_shared<LookupState>(walk, look_up_bytes(problem.level)),
          .scratch = kEntries,
          .phases = {1, walk.pieces()}};
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<LookupState>(call);
  auto* entries = reinterpret_cast<uint8_t*>(call.scratch);
  if (phase == 0) {
    const ConstView& table = call.in[IntegerLookup::in::table];
    const auto given = std::min(kEntries, static_cast<size_t>(table.size()));
    std::memcpy(entries, table.data, given);
    std::memset(entries + given, entries[given - 1], kEntries - given);
    return {};
  }
  const int64_t begin = state.walk.piece_begin(piece);
  state.look_up(entries, call.in[IntegerLookup::in::x].as<const uint8_t>() + begin,
                call.out[IntegerLookup::out::out_].as<uint8_t>() + begin, state.walk.piece_end(piece) - begin,
                state.walk.stream);
  return {};
}

}  // namespace

extern const Kernel cpu_integer_lookup_table{"table", accept, prepare, run};

}  // namespace halfstep::kernels
