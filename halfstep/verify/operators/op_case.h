// The `test:` blocks of the operator records, for the operator runner and the conformance tests. The table is
// generated.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/shape.h"

namespace halfstep::verify {

/// One application of an operator.
struct OpCase {
  std::vector<std::optional<Type>> in;  ///< by flat position, empty for an absent operand
  Attributes attributes;                ///< attributes that differ from their defaults, not completed
};

/// The first case, modified so that the rule refuses it.
struct OpReject {
  std::string rule;
  OpCase refused;
};

struct OpTest {
  std::string op;
  std::vector<OpCase> cases;
  // Values of operands by input port: uniform in [lowest, highest], special values at intervals, or exactly these
  // values in turn. fill_operands has the defaults.
  std::map<std::string, std::vector<double>> domain, special, values;
  /// Largest error relative to the largest magnitude in the reference output. Without it, the bits must be equal.
  std::optional<double> tolerance;
  // Independence that the record guarantees for the bits of a result.
  bool levels = false, threads = false, devices = false;
  /// Reason to skip the finite-difference check of the gradient. Empty if the check runs.
  std::string no_gradient_check;
  /// Reason why the operator has no gradient. Empty if it has one, or no reason.
  std::string without_gradient;
  std::vector<OpReject> rejects;
};

/// Tests in name order, for operators with a `test:` block. Read from op_test_texts() at the first call.
std::span<const OpTest> op_tests();

/// One text for each operator with a `test:` block, in name order. Its first line is the operator's name. Every other
/// line is a keyword with its content:
///   case x=f32[3,65]        special x=[nan, -0.0]       tolerance 1e-06     no_gradient "why"
///   reject c1 x=f32[0]      domain x=[-1.0, 1.0]        same_bits levels
std::span<const std::string_view> op_test_texts();

/// The test of an operator, or an empty one if it has none.
const OpTest& op_test(std::string_view op);

}  // namespace halfstep::verify
