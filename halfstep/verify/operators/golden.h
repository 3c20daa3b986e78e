// The operators against what their originals gave: `halfstep op golden FILE.json`.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/verify/operators/gradient_check.h"

namespace halfstep::verify {

struct GoldenOptions {
  std::filesystem::path file;  ///< see golden_file.h
  /// Names of the original operators, `*` and `?` standing for any letters and any letter.
  std::string operators = "*";
  int threads = 0;
  GradientBuilder gradient;  ///< passes::build_gradient
  ProgressCallback progress;
};

struct GoldenRow {
  std::string op;
  int64_t cases = 0;
  int64_t elements = 0;        ///< compared
  int64_t differing_bits = 0;  ///< outside the deliberate differences
  int64_t errors_expected = 0, errors_met = 0;
  int64_t deliberate = 0;  ///< cases that differ and are on the list
  int64_t failed = 0;      ///< cases that differ and are not
};

struct GoldenFailure {
  std::string id, what;
};

struct GoldenReport {
  std::vector<GoldenRow> rows;                ///< in order of first appearance
  std::vector<GoldenFailure> failures;        ///< in the order of the file
  std::map<std::string, int64_t> deliberate;  ///< cases by reason
  bool passed() const { return failures.empty(); }
};

/// Every case through the kernels that selection picks. Results are compared bit by bit (NaN = NaN). Two things are not
/// bits: a result whose record has a tolerance, and the gradient of an operand that is a sum over elements, which is
/// held within 1e-5 of the sum of the magnitudes of its terms. Cases on the list of deliberate differences (embedded,
/// verify/operators/differences/*.json, by id) are counted apart where they differ. Throws Error where the file is
/// wrong or names an operator that no record knows.
GoldenReport run_golden(const GoldenOptions& options);

}  // namespace halfstep::verify
