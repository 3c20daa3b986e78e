#include "halfstep/verify/operators/operator_runner.h"

#include <fmt/format.h>

#include <fnmatch.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/engine/compile/select.h"
#include "halfstep/engine/runtime/device.h"
#include "halfstep/verify/operators/errors.h"
#include "halfstep/verify/operators/result_checks.h"

namespace halfstep::verify {
namespace {

constexpr std::array<std::string_view, 5> kModeNames = {"check", "bitwise", "grad", "reject", "speed"};

/// Tests of the records whose names match. An operator without a `test:` block has an empty one.
std::vector<const OpTest*> matching_tests(const std::string& pattern) {
  std::vector<const OpTest*> matching;
  std::vector<std::string> names;
  for (const OpTest& test : op_tests()) {
    names.push_back(test.op);
    if (fnmatch(pattern.c_str(), test.op.c_str(), 0) == 0) matching.push_back(&test);
  }
  if (matching.empty()) fail(errors::checked_operator_unknown(pattern, did_you_mean(pattern, names)));
  return matching;
}

/// Runs all cases in all modes.
class Runner {
 public:
  explicit Runner(const OpOptions& options)
      : options_(options), level_(cpu_level()), pool_(options.threads), one_(1), two_(2), four_(4) {}

  OpReport run() {
    runtime::device_at(options_.place);
    if (options_.problems.empty()) {
      run_records();
    } else {
      run_problems();
    }
    return std::move(report_);
  }

 private:
  void run_records() {
    const auto tests = matching_tests(options_.operators);
    for (size_t i = 0; i < tests.size(); ++i) {
      say(tests[i]->op, i, tests.size());
      const OpInfo& info = require_operator(tests[i]->op, "table");
      for (const OpMode mode : options_.modes) run_record(info, *tests[i], mode);
    }
  }

  void run_record(const OpInfo& info, const OpTest& test, OpMode mode) {
    if (mode == OpMode::reject) {
      const std::string line = fmt::format("halfstep op reject --operator {}", info.name);
      for (const OpReject& reject : test.rejects)
        count(
            info, [&] { return check_reject(info, reject); }, line);
      return;
    }
    for (const OpCase& use : test.cases) {
      const Problem problem{&info, use};
      const auto guarded = [&] {
        try {
          return run_one(problem, test, mode);
        } catch (const Error& error) {
          if (error.kind() == ErrorKind::interrupted) throw;
          return failed(error.what());
        }
      };
      count(info, guarded, line_of(problem, mode));
    }
  }

  void run_problems() {
    std::vector<Problem> problems;
    for (const std::string& text : options_.problems) problems.push_back(parse_problem(text));
    for (size_t i = 0; i < problems.size(); ++i) {
      const Problem& problem = problems[i];
      say(problem.info->name, i, problems.size());
      const OpTest& record = op_test(problem.info->name);
      for (const OpMode mode : options_.modes)
        count(
            *problem.info, [&] { return run_one(problem, record, mode); }, line_of(problem, mode));
    }
  }

  Outcome run_one(const Problem& problem, const OpTest& record, OpMode mode) {
    if (mode == OpMode::reject) return skipped("a problem has no rejected cases; records have");
    if (compiler::candidates(options_.place, problem.info->name).empty())
      return skipped(fmt::format("there is no kernel on {}", to_string(options_.place)));
    if (mode == OpMode::grad) return check_gradient(problem, record, options_.seed, options_.gradient, level_, pool_);
    const FilledProblem filled{
        problem, record,
        fill_operands(problem, record, options_.seed, mode == OpMode::speed ? Specials::none : Specials::strewn)};
    if (mode == OpMode::check) return check_results(filled, level_, options_.place, pool_);
    if (mode == OpMode::bitwise) {
      name_missing_levels(record);
      return check_bitwise(filled, level_, {&one_, &two_, &four_});
    }
    report_.speeds.push_back(measure(problem, filled.operands, options_.place, pool_));
    return passed();
  }

  void name_missing_levels(const OpTest& record) {
    if (!record.levels) return;
    for (int i = static_cast<int>(detected_cpu_level()) + 1; i <= static_cast<int>(CpuLevel::amx); ++i)
      ++report_.skips[fmt::format("level {}: not available on this machine", halfstep::name(static_cast<CpuLevel>(i)))];
  }

  template <class Check>
  void count(const OpInfo& info, const Check& check, const std::string& line) {
    const Outcome outcome = check();
    OpRow& row = row_of(info.name);
    ++row.cases;
    if (outcome.kind == Outcome::Kind::skipped) {
      ++row.skipped;
      ++report_.skips[outcome.text];
      return;
    }
    ++row.checked;
    if (outcome.kind == Outcome::Kind::passed) return;
    ++row.failed;
    report_.failures.push_back({fmt::format("{}: {}", info.name, outcome.text), line});
  }

  OpRow& row_of(const std::string& op) {
    const auto found =
        std::find_if(report_.rows.begin(), report_.rows.end(), [&](const OpRow& r) { return r.op == op; });
    return found != report_.rows.end() ? *found : report_.rows.emplace_back(OpRow{op});
  }

  std::string line_of(const Problem& problem, OpMode mode) const {
    const bool forced = level_ != detected_cpu_level();
    const std::string device = options_.place == Place() ? "" : " --device " + to_string(options_.place);
    return fmt::format("{}halfstep op {} '{}' --seed {}{}",
                       forced ? fmt::format("HALFSTEP_CPU={} ", halfstep::name(level_)) : "", verify::name(mode),
                       to_text(problem), options_.seed, device);
  }

  void say(const std::string& op, size_t done, size_t total) const {
    if (options_.progress) options_.progress({"operators", static_cast<double>(done), static_cast<double>(total), op});
  }

  const OpOptions& options_;
  CpuLevel level_;
  ThreadPool pool_, one_, two_, four_;
  OpReport report_;
};

}  // namespace

std::string_view name(OpMode mode) { return kModeNames[static_cast<size_t>(mode)]; }

std::vector<OpMode> parse_op_modes(const std::string& text) {
  if (text == "all") return {OpMode::check, OpMode::bitwise, OpMode::grad, OpMode::reject};
  const auto found = std::find(kModeNames.begin(), kModeNames.end(), text);
  if (found != kModeNames.end()) return {static_cast<OpMode>(found - kModeNames.begin())};
  std::vector<std::string> names(kModeNames.begin(), kModeNames.end());
  names.emplace_back("all");
  fail(errors::operator_mode_unknown(text, to_string(Attribute(names)), did_you_mean(text, names)));
}

OpReport run_operators(const OpOptions& options) { return Runner(options).run(); }

}  // namespace halfstep::verify
