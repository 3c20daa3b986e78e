// What the tests of the IR share. Their operators are the toy table of toy_operators.cpp, so that they stand still when
// records change.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/graph.h"

namespace halfstep {

/// The message of the Error that `body` throws, "" when it throws none.
inline std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline OpSpec spec(const std::string& op, std::vector<Value> operands, Attributes attributes = {},
                   std::string name = {}) {
  return {&require_operator(op, "test"), std::move(operands), std::move(attributes), std::move(name), {}};
}

/// A graph of random structure, names, attributes and locations that obeys every rule.
Graph random_graph(uint64_t seed);

}  // namespace halfstep
