// The distinct codes of a tensor. Each piece collects its bytes, then all of them are listed in the order of codes.
#include <algorithm>
#include <array>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

constexpr int64_t kBytes = 256;

Plan prepare(const Problem& problem) {
  const int64_t pieces = pieces_of(count_elements(problem.in[0]->dims));
  return {.state = nullptr, .scratch = static_cast<size_t>(pieces * kBytes), .phases = {pieces, 1}};
}

void find(const ConstView& x, int64_t piece, uint8_t* has) {
  const auto* bytes = x.as<const uint8_t>();
  std::array<uint8_t, kBytes> found{};
  const int64_t end = std::min(x.size(), (piece + 1) * kPieceElements);
  for (int64_t i = piece * kPieceElements; i < end; ++i) found[bytes[i]] = 1;
  std::copy(found.begin(), found.end(), has);
}

Status run(const Call& call, int phase, int64_t piece) {
  const ConstView& x = call.in[DistinctCodes::in::x];
  auto* has = reinterpret_cast<uint8_t*>(call.scratch);
  if (phase == 0) {
    find(x, piece, has + piece * kBytes);
    return {};
  }
  for (int64_t other = 1; other < pieces_of(x.size()); ++other) {
    for (int64_t i = 0; i < kBytes; ++i) has[i] |= has[other * kBytes + i];
  }
  auto* out = call.out[0].as<uint8_t>();
  const int64_t least = is_signed(x.dtype) ? kBytes / 2 : 0;  // the byte of the least code
  int64_t count = 0;
  for (int64_t i = 0; i < kBytes; ++i) {
    const auto byte = static_cast<uint8_t>(least + i);
    if (has[byte] != 0) out[count++] = byte;
  }
  std::fill(out + count, out + kBytes, count == 0 ? uint8_t{0} : out[count - 1]);
  return {};
}

}  // namespace

extern const Kernel cpu_distinct_codes_bytes{"bytes", accept_all, prepare, run};

}  // namespace halfstep::kernels
