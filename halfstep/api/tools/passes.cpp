#include "halfstep/api/tools/passes.h"

#include <algorithm>
#include <chrono>

#include "halfstep/core/ir/text/print.h"
#include "halfstep/passes/graph/run_pass.h"

namespace halfstep::api {
namespace {

std::vector<std::string> chosen(const std::vector<std::string>& names, const std::vector<std::string>& disabled) {
  std::vector<std::string> list;
  for (const std::string& name : names) {
    if (name != "all") {
      list.push_back(name);
      continue;
    }
    for (const PassInfo& pass : passes()) list.push_back(pass.name);
  }
  compiler::check_graph_pass_names(list);
  compiler::check_graph_pass_names(disabled);
  std::erase_if(list, [&](const std::string& name) { return std::ranges::find(disabled, name) != disabled.end(); });
  return list;
}

int64_t count_of(const Graph& graph) { return static_cast<int64_t>(graph.all_ops().size()); }

PassStep run_one(Model& model, const std::string& name) {
  PassStep history;
  history.name = name;
  history.before = count_of(model.graph);
  const std::string text = print(model.graph);
  const auto start = std::chrono::steady_clock::now();
  compiler::run_graph_pass(model, name);
  history.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  passes::verify_own(name, model.graph);
  history.after = count_of(model.graph);
  history.network = print(model.graph);
  history.changed = history.network != text;
  return history;
}

}  // namespace

std::vector<PassInfo> passes() { return compiler::graph_passes(); }

PassResult run_passes(const Model& model, const std::vector<std::string>& names,
                      const std::vector<std::string>& disabled) {
  PassResult passed{model, {}};
  for (const std::string& name : chosen(names, disabled)) passed.history.push_back(run_one(passed.model, name));
  return passed;
}

}  // namespace halfstep::api
