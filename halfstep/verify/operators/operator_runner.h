// Every operator against its reference, its promises, its gradient and its rules; `halfstep op`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/verify/operators/gradient_check.h"

namespace halfstep::verify {

enum class OpMode {
  check,    ///< what selection picks against the reference: the same bits, or within the record's tolerance
  bitwise,  ///< the same bits on every CPU level, by 1, 2 and 4 threads, on the device sim: what the record promises
  grad,     ///< see check_gradient
  reject,   ///< every rejected case of the record is an error with its rule's label
  speed     ///< time of the kernel alone
};
std::string_view name(OpMode mode);
/// Throws with a suggestion; "all" is every mode but speed.
std::vector<OpMode> parse_op_modes(const std::string& text);

struct OpOptions {
  std::vector<OpMode> modes = {OpMode::check};
  std::vector<std::string> problems;  ///< lines, see parse_problem; without any the cases of the records
  std::string operators = "*";        ///< names of records, `*` and `?` standing for any letters and any letter
  int threads = 0;                    ///< of check, grad and speed; 0 is one for each processor
  Place place;                        ///< the device of check and speed
  uint64_t seed = 0;
  GradientBuilder gradient;  ///< passes::build_gradient
  ProgressCallback progress;
};

struct OpFailure {
  std::string what;       ///< "out: 3 of 60 elements differ, ..."
  std::string reproduce;  ///< a command line
};

/// Pairs of a case and a mode.
struct OpRow {
  std::string op;
  int64_t cases = 0, checked = 0, failed = 0, skipped = 0;  ///< cases = checked + skipped; the failed are checked
};

struct OpSpeed {
  std::string problem, kernel;
  double microseconds = 0;  ///< median
  double gigabytes = 0;     ///< a second: bytes of operands and results over the time
};

struct OpReport {
  std::vector<OpRow> rows;  ///< in order of first appearance
  std::vector<OpFailure> failures;
  std::map<std::string, int64_t> skips;  ///< by reason, parts of a check (a CPU level) too
  std::vector<OpSpeed> speeds;
  bool passed() const { return failures.empty(); }
};

/// An operator without a kernel for the place is skipped. Throws Error where there is no device at the place, where a
/// problem is wrong (bad_input) or no kernel takes its types (unsupported), and where no record has the name asked for.
/// What goes wrong with a case of a record is a failure in the report.
OpReport run_operators(const OpOptions& options);

/// Median time of the operator's kernel at the current CPU level on the device at `place`, operands as tensors.
OpSpeed measure(const Problem& problem, const std::vector<Tensor>& operands, Place place, ThreadPool& pool);

}  // namespace halfstep::verify
