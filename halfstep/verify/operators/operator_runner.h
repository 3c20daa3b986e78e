// Checks operators against their references, guarantees, gradients and rules: `halfstep op`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/verify/operators/gradient_check.h"

namespace halfstep::verify {

enum class OpMode {
  check,    ///< compares the selected kernel with the reference: equal bits, or within the record's tolerance
  bitwise,  ///< equal bits for every CPU level, 1, 2 and 4 threads and the device sim, as the record guarantees
  grad,     ///< compares gradients, see check_gradient
  reject,   ///< expects an error with the rule's label for every rejected case of the record
  speed     ///< measures the time of the kernel alone
};
std::string_view name(OpMode mode);
/// Parses a list of modes. "all" means every mode except speed. Throws with a suggestion for an unknown mode.
std::vector<OpMode> parse_op_modes(const std::string& text);

struct OpOptions {
  std::vector<OpMode> modes = {OpMode::check};
  std::vector<std::string> problems;  ///< lines for parse_problem, if empty the cases of the records
  std::string operators = "*";        ///< names of records, `*` matches any characters, `?` matches one
  int threads = 0;                    ///< threads of check, grad and speed, 0: one for each processor
  Place place;                        ///< device of check and speed
  uint64_t seed = 0;
  GradientBuilder gradient;  ///< passes::build_gradient
  ProgressCallback progress;
};

struct OpFailure {
  std::string what;       ///< for example "out: 3 of 60 elements differ, ..."
  std::string reproduce;  ///< a command line
};

/// Counts of pairs of a case and a mode.
struct OpRow {
  std::string op;
  int64_t cases = 0, checked = 0, failed = 0, skipped = 0;  ///< cases = checked + skipped, failed cases are also
                                                            ///< checked
};

struct OpSpeed {
  std::string problem, kernel;
  double microseconds = 0;  ///< median
  double gigabytes = 0;     ///< gigabytes per second: bytes of operands and results divided by the time
};

struct OpReport {
  std::vector<OpRow> rows;  ///< in order of first appearance
  std::vector<OpFailure> failures;
  std::map<std::string, int64_t> skips;  ///< by reason, including skipped parts of a check (a CPU level)
  std::vector<OpSpeed> speeds;
  bool passed() const { return failures.empty(); }
};

/// Runs the modes. Skips an operator without a kernel for the place. Throws Error if there is no device at the place,
/// if a problem is wrong (bad_input), if no kernel supports its types (unsupported), or if no record has a requested
/// name. A mistake in a case of a record is reported as a failure instead.
OpReport run_operators(const OpOptions& options);

/// Median time of the operator's kernel at the current CPU level, on the device at `place`. Operands are tensors of the
/// model.
OpSpeed measure(const Problem& problem, const std::vector<Tensor>& operands, Place place, ThreadPool& pool);

}  // namespace halfstep::verify
