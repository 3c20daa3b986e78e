// Compares operators with stored results of the original operators: `halfstep op golden FILE.json`.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/verify/operators/gradient_check.h"

namespace halfstep::verify {

struct GoldenOptions {
  std::filesystem::path file;  ///< for the format see golden_file.h
  /// Names of the original operators. `*` matches any characters, `?` matches one.
  std::string operators = "*";
  int threads = 0;
  GradientBuilder gradient;  ///< passes::build_gradient
  ProgressCallback progress;
};

struct GoldenRow {
  std::string op;
  int64_t cases = 0;
  int64_t elements = 0;        ///< compared elements
  int64_t differing_bits = 0;  ///< without the deliberate differences
  int64_t errors_expected = 0, errors_met = 0;
  int64_t deliberate = 0;  ///< differing cases on the list of deliberate differences
  int64_t failed = 0;      ///< differing cases that are not on the list
};

struct GoldenFailure {
  std::string id, what;
};

struct GoldenReport {
  std::vector<GoldenRow> rows;                ///< in order of first appearance
  std::vector<GoldenFailure> failures;        ///< in the order of the file
  std::map<std::string, int64_t> deliberate;  ///< number of cases by reason
  bool passed() const { return failures.empty(); }
};

/// Runs every case through the kernels that kernel selection picks. Compares results bit by bit (NaN = NaN), with two
/// exceptions. A result whose record has a tolerance uses this tolerance. The gradient of an operand that is a sum over
/// elements may differ by 1e-5 of the sum of the magnitudes of its terms. Deliberate differences (embedded,
/// verify/operators/differences/*.json, by id) are counted separately. Throws Error if the file is wrong, or if it
/// names an operator without a record.
GoldenReport run_golden(const GoldenOptions& options);

}  // namespace halfstep::verify
