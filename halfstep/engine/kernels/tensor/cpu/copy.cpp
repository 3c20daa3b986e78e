// Copies cut into pieces of the result.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/join.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Bytes of a piece. Its start costs little, and a copy of a few MiB has work for several threads.
constexpr int64_t kPieceBytes = int64_t{256} << 10;

int64_t bytes_of(const Type& type) { return count_elements(type.dims) * static_cast<int64_t>(size_of(type.dtype)); }
int64_t pieces_of_bytes(int64_t bytes) { return ceil_div(bytes, kPieceBytes); }

Plan prepare_copy(const Problem& problem) {
  const int64_t bytes = bytes_of(*problem.out[0]);
  return {.state = std::make_shared<int64_t>(bytes), .phases = {pieces_of_bytes(bytes)}, .in_place = InPlace::copy};
}

Status run_copy(const Call& call, int, int64_t piece) {
  if (call.out[0].data == call.in[0].data) return {};
  const int64_t begin = piece * kPieceBytes, end = std::min(state_of<int64_t>(call), begin + kPieceBytes);
  copy_bytes(call.out[0].as<std::byte>() + begin, call.in[0].as<const std::byte>() + begin, end - begin);
  return {};
}

Plan prepare_concat(const Problem& problem) {
  const Concat a(problem.attributes);
  return {.state = std::make_shared<Join>(problem.in.subspan(Concat::in::x), a.axis),
          .phases = {pieces_of_bytes(bytes_of(*problem.out[0]))}};
}

Status run_concat(const Call& call, int, int64_t piece) {
  const auto& join = state_of<Join>(call);
  auto* dst = call.out[0].as<std::byte>();
  int64_t at = piece * kPieceBytes;
  const int64_t end = std::min(join.rows * join.row(), at + kPieceBytes);
  while (at < end) {
    const int64_t row = at / join.row(), offset = at % join.row();
    const auto next = std::upper_bound(join.begins.begin(), join.begins.end(), offset);
    const auto value = static_cast<size_t>(next - join.begins.begin() - 1);
    const int64_t inside = offset - join.begins[value];
    const int64_t bytes = std::min(join.chunk(value) - inside, end - at);
    const auto* src = call.in[Concat::in::x + value].as<const std::byte>();
    copy_bytes(dst + at, src + row * join.chunk(value) + inside, bytes);
    at += bytes;
  }
  return {};
}

}  // namespace

extern const Kernel cpu_reshape_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_reshape_like_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_reshape_by_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_flatten_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_identity_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_input_nop_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_output_nop_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_squeeze_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_unsqueeze_copy{"copy", accept_all, prepare_copy, run_copy};
extern const Kernel cpu_concat_copy{"copy", accept_all, prepare_concat, run_concat};

}  // namespace halfstep::kernels
