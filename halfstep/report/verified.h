// The comparison of execution paths by `verify` as text and JSON.
#pragma once

#include <string>

#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::report {

/// One line for each layer: operator, bits, scale, compared elements, differing codes, result of the semantic check
/// (near ties, out of tolerance) and SQNR.
std::string layers_table(const verify::VerifyReport& report);

/// The first difference in each layer, or the statement that all codes are equal. Then the semantic check of the
/// layers, the similarity of the outputs to the float network, and the summary.
std::string verdict(const verify::VerifyReport& report);

/// A summary in one line, for example "integers equal the training network (0 of 4,561,700 codes differ); 99.2 %
/// accuracy, float 98.9 %".
std::string sentence(const verify::VerifyReport& report);

/// Differences of engine variants that are allowed to differ. "" without variants.
std::string variants_table(const verify::VerifyReport& report);

/// Table of layers, verdict and table of variants.
std::string as_text(const verify::VerifyReport& report);
/// The complete report as JSON, see docs/reference/reports.md.
std::string as_json(const verify::VerifyReport& report);

}  // namespace halfstep::report
