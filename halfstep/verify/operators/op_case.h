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
  std::vector<std::optional<Type>> in;  ///< by flat position; nothing for an absent operand
  Attributes attributes;                ///< those that differ from their defaults, not completed
};

/// The first case, changed so that the rule refuses it.
struct OpReject {
  std::string rule;
  OpCase refused;
};

struct OpTest {
  std::string op;
  std::vector<OpCase> cases;
  // By input port, as the fill of its values (defaults: fill_operands): uniform in [lowest, highest], special ones
  // strewn in, or exactly these in turn.
  std::map<std::string, std::vector<double>> domain, special, values;
  /// Largest error relative to the largest magnitude in the reference output; nothing asks for the same bits.
  std::optional<double> tolerance;
  // What the bits of a result must not depend on.
  bool levels = false, threads = false, devices = false;
  /// Why the finite-difference check of the gradient is left out; empty where it is made.
  std::string no_gradient_check;
  std::vector<OpReject> rejects;
};

/// In name order; operators without a `test:` block are not among them. Read from op_test_texts() at the first call.
std::span<const OpTest> op_tests();

/// One text for each operator with a `test:` block, in name order. Its first line is the operator's name; each other
/// line is a word and what it is about:
///   case x=f32[3,65]        special x=[nan, -0.0]       tolerance 1e-06     no_gradient "why"
///   reject c1 x=f32[0]      domain x=[-1.0, 1.0]        same_bits levels
std::span<const std::string_view> op_test_texts();

/// The test of an operator; one that says nothing where there is none.
const OpTest& op_test(std::string_view op);

}  // namespace halfstep::verify
