#include "halfstep/verify/operators/result_checks.h"

#include <fmt/format.h>

#include "halfstep/verify/operators/compare_tensors.h"

namespace halfstep::verify {
namespace {

constexpr std::array<OperandSource, 2> kOperandSources = {OperandSource::arguments, OperandSource::tensors};
constexpr Place kCpu = {DeviceKind::cpu};
constexpr Place kSim = {DeviceKind::sim};

/// Checks the bit guarantees of the record for one source of the operands.
class BitwiseCheck {
 public:
  BitwiseCheck(const FilledProblem& filled, OperandSource source, CpuLevel level,
               const std::array<ThreadPool*, 3>& pools)
      : filled_(filled),
        source_(source),
        level_(level),
        pools_(pools),
        single_(make_single(filled.problem, filled.operands, source)),
        expected_(execute(single_, level, kCpu, *pools[0])) {}

  std::string run() const {
    const OpTest& record = filled_.record;
    std::string wrong;
    if (record.threads) wrong = threads();
    if (wrong.empty() && record.levels) wrong = levels();
    if (wrong.empty() && record.devices) wrong = device();
    if (wrong.empty() && record.tolerance) wrong = one_order();
    return wrong;
  }

 private:
  std::string threads() const {
    for (ThreadPool* pool : {pools_[1], pools_[2]}) {
      const auto found = execute(single_, level_, kCpu, *pool);
      if (auto wrong = compare(found, expected_); !wrong.empty())
        return fmt::format("{} threads against 1: {}", pool->threads(), wrong);
    }
    return {};
  }

  std::string levels() const {
    for (const CpuLevel other : available_cpu_levels()) {
      if (other == level_) continue;
      const auto found = execute(single_, other, kCpu, *pools_[0]);
      if (auto wrong = compare(found, expected_); !wrong.empty())
        return fmt::format("level {} against {}: {}", halfstep::name(other), halfstep::name(level_), wrong);
    }
    return {};
  }

  std::string one_order() const {
    const auto expected = reference_results(single_, filled_.operands);
    for (const CpuLevel level : available_cpu_levels()) {
      for (ThreadPool* pool : {pools_[0], pools_[2]}) {
        const auto found = execute(single_, level, kCpu, *pool, Order::one);
        if (auto wrong = compare(found, expected); !wrong.empty())
          return fmt::format("one order, level {}, {} threads, against the reference: {}", halfstep::name(level),
                             pool->threads(), wrong);
      }
    }
    return {};
  }

  std::string device() const {
    const auto found = execute(single_, level_, kSim, *pools_[0]);
    const bool same_kernel_only = filled_.record.tolerance.has_value();
    const auto expected = same_kernel_only ? reference_results(single_, filled_.operands) : expected_;
    if (auto wrong = compare(found, expected); !wrong.empty()) return "sim against cpu: " + wrong;
    return {};
  }

  std::string compare(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) const {
    const std::string wrong = compare_results(*filled_.problem.info, found, expected, {});
    return wrong.empty() ? wrong : fmt::format("{} ({})", wrong, verify::name(source_));
  }

  const FilledProblem& filled_;
  OperandSource source_;
  CpuLevel level_;
  const std::array<ThreadPool*, 3>& pools_;
  Single single_;
  std::vector<Tensor> expected_;
};

}  // namespace

std::string compare_results(const OpInfo& info, const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                            std::optional<double> tolerance) {
  HS_CHECK(found.size() == info.outputs.size() && expected.size() == info.outputs.size());
  for (size_t port = 0; port < found.size(); ++port) {
    const std::string& name = info.outputs[port].name;
    if (found[port].defined() != expected[port].defined())
      return fmt::format("{}: {}", name, found[port].defined() ? "is produced, expected none" : "is not produced");
    if (!found[port].defined()) continue;
    if (auto wrong = difference(found[port], expected[port], tolerance); !wrong.empty()) return name + ": " + wrong;
  }
  return {};
}

Outcome check_results(const FilledProblem& filled, CpuLevel level, Place place, ThreadPool& pool) {
  for (const OperandSource source : kOperandSources) {
    const Single single = make_single(filled.problem, filled.operands, source);
    const auto found = execute(single, level, place, pool);
    const auto expected = reference_results(single, filled.operands);
    const auto wrong = compare_results(*filled.problem.info, found, expected, filled.record.tolerance);
    if (!wrong.empty()) return failed(fmt::format("{} ({})", wrong, name(source)));
  }
  return passed();
}

Outcome check_bitwise(const FilledProblem& filled, CpuLevel level, const std::array<ThreadPool*, 3>& pools) {
  const OpTest& record = filled.record;
  if (!record.threads && !record.levels && !record.devices && !record.tolerance)
    return skipped("the record promises no equal bits");
  for (const OperandSource source : kOperandSources) {
    const std::string wrong = BitwiseCheck(filled, source, level, pools).run();
    if (!wrong.empty()) return failed(wrong);
  }
  return passed();
}

Outcome check_reject(const OpInfo& info, const OpReject& reject) {
  const std::string label = fmt::format("{} {}: ", info.name, reject.rule);
  try {
    check_problem({&info, reject.refused});
  } catch (const Error& error) {
    const bool named =
        error.kind() == ErrorKind::bad_input && std::string_view(error.what()).find(label) != std::string_view::npos;
    return named ? passed()
                 : failed(fmt::format("rule {}: found '{}', expected '{}'", reject.rule, error.what(), label));
  }
  return failed(fmt::format("rule {}: '{}' is accepted", reject.rule, to_text({&info, reject.refused})));
}

}  // namespace halfstep::verify
