#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

void print_list(bool as_json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const PassInfo& pass : api::passes()) {
    list.push_back({{"name", pass.name}, {"doc", pass.doc}});
    if (!as_json) fmt::print("{:20} {}\n", pass.name, pass.doc);
  }
  if (as_json) fmt::print("{}", report::to_text({{"passes", list}}));
}

bool is_shown(const api::PassStep& pass, const std::vector<std::string>& shown) {
  return std::ranges::any_of(shown, [&](const std::string& name) { return name == pass.name || name == "all"; });
}

void print_history(const std::vector<api::PassStep>& history, const std::vector<std::string>& shown, bool as_json) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const api::PassStep& pass : history) {
    auto& entry = list.emplace_back(nlohmann::ordered_json{{"name", pass.name},
                                                           {"before", pass.before},
                                                           {"after", pass.after},
                                                           {"changed", pass.changed},
                                                           {"seconds", pass.seconds}});
    if (is_shown(pass, shown)) entry["network"] = pass.network;
    if (as_json) continue;
    fmt::print("{:20} {:6} -> {:6} operations  {:8.2f} ms{}\n", pass.name, pass.before, pass.after, pass.seconds * 1e3,
               pass.changed ? "" : "  nothing changed");
    if (is_shown(pass, shown)) fmt::print("{}", pass.network);
  }
  if (as_json) fmt::print("{}", report::to_text({{"passes", list}}));
}

int run_passes(api::PassCommand& command, const Given&) {
  if (command.list) return print_list(command.common.json), kDone;
  if (command.model.empty()) fail(errors::pass_without_network());
  const auto claim = require(command.out);
  const bool is_text = command.model.extension() == ".ir";
  const Model network = is_text ? api::load_text(command.model, 0) : api::load(command.model);
  const api::PassResult passed = api::run_passes(network, command.passes, command.disable);
  print_history(passed.history, command.print_after, command.common.json);
  if (!command.out.path.empty()) api::save(passed.model, command.out.path);
  return kDone;
}

}  // namespace

void add_pass(const Program& program) { add_verb<api::PassCommand>(program, run_passes); }

}  // namespace halfstep::cli
