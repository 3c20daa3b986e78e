#include "halfstep/verify/op_case.h"

#include <algorithm>

namespace halfstep::verify {

const OpTest& op_test(std::string_view op) {
  static const OpTest none;
  const auto tests = op_tests();
  const auto found = std::ranges::lower_bound(tests, op, {}, &OpTest::op);
  return found != tests.end() && found->op == op ? *found : none;
}

}  // namespace halfstep::verify
