#include "halfstep/passes/graph/run_pass.h"

#include <fmt/format.h>

#include <cstdlib>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/verify_graph.h"

namespace halfstep::passes {
namespace {

bool verifies_each() {
#ifndef NDEBUG
  return true;
#else
  static const bool kAsked = std::getenv("HALFSTEP_VERIFY_PASSES") != nullptr;
  return kAsked;
#endif
}

}  // namespace

void verify_own(std::string_view where, const Graph& graph) {
  try {
    verify(graph);
  } catch (const Error& error) {
    fail(errors::defect(where, error.what()));
  }
}

void run_pass(std::string_view name, const Graph& graph, const std::function<void()>& run) {
  const std::string where = fmt::format("pass '{}'", name);
  try {
    run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::internal) throw;
    throw prefixed(where, error);
  }
  if (verifies_each()) verify_own(where, graph);
}

}  // namespace halfstep::passes
