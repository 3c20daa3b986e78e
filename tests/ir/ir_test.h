// Helpers shared by the tests of the IR. Their operators are the toy table of toy_operators.cpp, so that changes of
// records do not affect the tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/graph.h"
#include "tests/support/error.h"

namespace halfstep {

using test::diagnostic_of;
using test::name_of;

inline OpSpec spec(const std::string& op, std::vector<Value> operands, Attributes attributes = {},
                   std::string name = {}) {
  return {&require_operator(op, "test"), std::move(operands), std::move(attributes), std::move(name), {}};
}

/// A graph of random structure, names, attributes and locations that obeys every rule.
Graph random_graph(uint64_t seed);

}  // namespace halfstep
