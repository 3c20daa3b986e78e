#include "halfstep/engine/eager/prepared.h"

#include <fmt/format.h>

#include "halfstep/core/base/storage.h"
#include "halfstep/core/machine/float_environment.h"
#include "halfstep/engine/compile/select.h"
#include "halfstep/engine/eager/team.h"

namespace halfstep::eager {
namespace {

/// Below this size, another thread takes longer to start than this one to finish.
constexpr size_t kSpreadBytes = size_t{64} << 10;
/// Scratch memory up to this size stays with its thread.
constexpr size_t kCachedScratch = size_t{256} << 10;

size_t bytes_of(const Type& type) { return static_cast<size_t>(count_elements(type.dims)) * size_of(type.dtype); }

std::shared_ptr<std::byte> scratch(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > kCachedScratch) return allocate(bytes);
  static thread_local std::shared_ptr<std::byte> cached;
  static thread_local size_t cached_bytes = 0;
  if (cached_bytes < bytes) {
    cached = allocate(bytes);
    cached_bytes = bytes;
  }
  return cached;
}

Status run_alone(const kernels::Kernel& kernel, const kernels::Plan& plan, const kernels::Call& call) {
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
    for (int64_t piece = 0; piece < plan.phases[phase]; ++piece) {
      if (Status status = kernel.run(call, static_cast<int>(phase), piece); !status.ok()) return status;
    }
  }
  return {};
}

/// Pieces [next, end) that one worker starts with. Each share has its own cache line, because other workers count in
/// the neighbouring ones.
struct alignas(kAlignment) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

/// Calls task(worker, piece) for every piece. A worker starts with the same pieces in every call, because its cache may
/// still hold them. Then it takes pieces of other workers.
void run_shares(ThreadPool& pool, int64_t pieces, FunctionRef<void(int, int64_t)> task) {
  const auto workers = static_cast<size_t>(pool.threads());
  std::vector<Share> shares(workers);
  for (size_t i = 0; i < workers; ++i) {
    shares[i].next = pieces * static_cast<int64_t>(i) / static_cast<int64_t>(workers);
    shares[i].end = pieces * static_cast<int64_t>(i + 1) / static_cast<int64_t>(workers);
  }
  pool.run_on_all([&](int worker) {
    for (size_t i = 0; i < workers; ++i) {
      Share& share = shares[(static_cast<size_t>(worker) + i) % workers];
      for (int64_t piece = share.next++; piece < share.end; piece = share.next++) task(worker, piece);
    }
  });
}

/// Each worker has its part of `worker_scratch`. Returns the failure of the lowest piece.
Status run_spread(const kernels::Kernel& kernel, const kernels::Plan& plan, const kernels::Call& call,
                  ThreadPool& pool) {
  Status failure;
  int64_t failed = INT64_MAX;
  std::mutex failure_mutex;
  for (size_t phase = 0; phase < plan.phases.size() && failure.ok(); ++phase) {
    const auto work = [&](int worker, int64_t piece) {
      kernels::Call mine = call;
      mine.worker_scratch += static_cast<size_t>(worker) * aligned(plan.worker_scratch);
      Status status = kernel.run(mine, static_cast<int>(phase), piece);
      if (status.ok()) return;
      const std::lock_guard lock(failure_mutex);
      if (piece < failed) failure = std::move(status);
      failed = std::min(failed, piece);
    };
    if (plan.phases[phase] == 1) {
      work(0, 0);
    } else {
      run_shares(pool, plan.phases[phase], work);
    }
  }
  return failure;
}

}  // namespace

Prepared::Prepared(const OpInfo& info, const Attributes& attributes, std::span<const kernels::ConstView> operands)
    : info_(&info), attributes_(complete_attributes(info, attributes, "call")) {
  std::vector<Type> types;
  for (const kernels::ConstView& operand : operands) {
    types.push_back({operand.dtype, Dims(operand.dims.begin(), operand.dims.end())});
    if (operand.present()) bytes_ += bytes_of(types.back());
  }
  std::vector<const Type*> in;
  for (size_t i = 0; i < operands.size(); ++i) in.push_back(operands[i].present() ? &types[i] : nullptr);
  const size_t fixed = info.inputs.size() - (info.has_variadic_input() ? 1 : 0);
  if (in.size() < fixed) in.resize(fixed);

  const std::vector<Type> inferred =
      check_site({"call", info, in, attributes_}, [&](size_t i) { return to_string(types[i]); });
  for (size_t port = 0; port < inferred.size(); ++port) {
    const bool produced = info.has_output(static_cast<int>(port), attributes_);
    results_.push_back(produced ? std::optional(inferred[port]) : std::nullopt);
  }
  std::vector<const Type*> out;
  for (const std::optional<Type>& result : results_) {
    out.push_back(result ? &*result : nullptr);
    if (result) bytes_ += bytes_of(*result);
  }
  const std::vector<const Tensor*> constants(in.size());
  const kernels::Problem problem{info.name, attributes_, in, out, constants, cpu_level()};
  compiler::Selection selection = compiler::select_kernel(problem, Place{}, "call");
  kernel_ = selection.kernel;
  plan_ = std::move(selection.plan);
  const bool divided = std::any_of(plan_.phases.begin(), plan_.phases.end(), [](int64_t pieces) { return pieces > 1; });
  spreads_ = divided && bytes_ >= kSpreadBytes;
}

void Prepared::run(std::span<const kernels::ConstView> in, std::span<const kernels::View> out) const {
  const FloatEnvironment environment;
  const Team team(spreads_);
  const auto workers = static_cast<size_t>(team.pool() != nullptr ? team.pool()->threads() : 1);
  const size_t shared = aligned(plan_.scratch);
  const std::shared_ptr<std::byte> memory = scratch(shared + workers * aligned(plan_.worker_scratch));
  const kernels::Call call{plan_.state.get(), in, out, memory.get(), memory.get() + shared};
  const Status status =
      team.pool() != nullptr ? run_spread(*kernel_, plan_, call, *team.pool()) : run_alone(*kernel_, plan_, call);
  if (!status.ok()) throw prefixed(fmt::format("call: {}", info_->name), Error(status.diagnostic()));
}

}  // namespace halfstep::eager
