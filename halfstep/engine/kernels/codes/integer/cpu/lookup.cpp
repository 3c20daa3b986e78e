// integer_lookup from bytes to bytes, a vector of them at a time.
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/common/byte_table.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/elements.h"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

constexpr int64_t kEntries = 256;

struct LookupState {
  IntegerLookup attributes;
  elements::Walk walk;
  LookUpBytes look_up;
  bool is_complete;  ///< the table has an entry for each byte, in order
};

Verdict accept(const Problem& problem) {
  for (const Type* type : {problem.in[IntegerLookup::in::x], problem.in[IntegerLookup::in::table], problem.out[0]}) {
    if (is_wide(type->dtype))
      return refuse(errors::kernel_takes_other_types("codes", name(type->dtype), "codes of one byte"));
  }
  return accept_simd(problem);
}

/// Phase 0 fills a table for all bytes, including those that are not codes of x, unless the operand is such a table.
Plan prepare(const Problem& problem) {
  const IntegerLookup attributes(problem.attributes);
  const int64_t size = count_elements(problem.out[0]->dims);
  const elements::Walk walk({1, 1, size}, size);
  const bool is_complete = problem.in[IntegerLookup::in::x]->dtype == DType::u8 && attributes.x_code_min == 0 &&
                           problem.in[IntegerLookup::in::table]->dims[0] == kEntries;
  Plan plan{.state = std::make_shared<LookupState>(attributes, walk, look_up_bytes(problem.level), is_complete)};
  if (!is_complete) plan.scratch = kEntries;
  plan.phases = {is_complete ? 0 : 1, walk.pieces()};
  return plan;
}

void fill(const Call& call, uint8_t* entries) {
  const auto& state = state_of<LookupState>(call);
  const ConstView& table = call.in[IntegerLookup::in::table];
  const auto* given = table.as<const uint8_t>();
  const bool is_below = is_signed(call.in[IntegerLookup::in::x].dtype);
  for (int64_t byte = 0; byte < kEntries; ++byte) {
    const int64_t code = is_below && byte >= kEntries / 2 ? byte - kEntries : byte;
    entries[byte] = given[std::clamp<int64_t>(code - state.attributes.x_code_min, 0, table.size() - 1)];
  }
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<LookupState>(call);
  auto* filled = reinterpret_cast<uint8_t*>(call.scratch);
  if (phase == 0) {
    fill(call, filled);
    return {};
  }
  const uint8_t* entries = state.is_complete ? call.in[IntegerLookup::in::table].as<const uint8_t>() : filled;
  const int64_t begin = state.walk.piece_begin(piece);
  state.look_up(entries, call.in[IntegerLookup::in::x].as<const uint8_t>() + begin,
                call.out[IntegerLookup::out::out_].as<uint8_t>() + begin, state.walk.piece_end(piece) - begin,
                state.walk.stream);
  return {};
}

}  // namespace

extern const Kernel cpu_integer_lookup_table{"table", accept, prepare, run};

}  // namespace halfstep::kernels
