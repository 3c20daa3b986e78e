#include "halfstep/engine/compile/fetch.h"

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/compile/errors.h"

namespace halfstep::compiler {
namespace {

/// A name without a port means the first port.
bool names_port(const std::string& name, Op op, size_t port) {
  return name == op.name() + "." + op.info().outputs[port].name || (port == 0 && name == op.name());
}

[[noreturn]] void fail_unknown(const Graph& graph, const std::string& name) {
  std::vector<std::string> known = graph.body().output_names();
  for (const Value argument : graph.arguments()) known.push_back(argument.name());
  for (const Value tensor : graph.tensors()) known.push_back(tensor.name());
  for (const Op op : graph.ops()) {
    for (const Value result : op.results()) known.push_back(result.name());
  }
  fail(errors::fetch_unknown(graph.name(), name, did_you_mean(name, known)));
}

/// The result of that name, produced or not. `digits.q` and `digits.q.out` both name the first output of node digits.q.
Value find_result(const Graph& graph, const std::string& name) {
  for (const Op op : graph.ops()) {
    for (size_t port = 0; port < op.info().outputs.size(); ++port) {
      if (!names_port(name, op, port)) continue;
      const int number = static_cast<int>(port);
      if (const Value result = op.out(number)) return result;
      fail(errors::output_not_produced(op.where(), op.info().outputs[port].name,
                                       op.info().absent_output_reason(number, op.attributes())));
    }
  }
  return {};
}

/// A value inside a branch or a loop may have the name of a tensor. Values inside regions cannot be fetched.
bool is_outside_regions(const Graph& graph, Value value) {
  return (value.producer() ? value.producer().node()->block : value.node()->owner) == &graph.body();
}

Value find_value(const Graph& graph, const std::string& name) {
  const auto& names = graph.body().output_names();
  const auto output = std::find(names.begin(), names.end(), name);
  if (output != names.end()) return graph.outputs()[static_cast<size_t>(output - names.begin())];
  if (const Value value = graph.value(name); value && is_outside_regions(graph, value)) return value;
  if (const Value tensor = graph.tensor(name)) return tensor;
  if (const Value result = find_result(graph, name)) return result;
  fail_unknown(graph, name);
}

}  // namespace

void set_fetches(Graph& graph, const std::vector<std::string>& fetch) {
  if (fetch.empty()) return;
  std::vector<Value> values;
  values.reserve(fetch.size());
  for (const std::string& name : fetch) values.push_back(find_value(graph, name));
  graph.set_outputs(std::move(values), fetch);
}

}  // namespace halfstep::compiler
