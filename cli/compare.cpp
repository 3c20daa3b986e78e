#include "cli/command.h"

namespace halfstep::cli {
namespace {

/// Reads samples only if one of the two paths is a network. Its classes apply.
board::Comparison compared(const api::CompareCommand& command) {
  const api::CompareOptions& options = command.options;
  const api::Settings settings = settings_of(command.common);
  for (const auto& path : {command.first, command.second}) {
    if (!api::is_network(path)) continue;
    const api::LoadedPair pair = load_both(command.common, path, command.data, options.dump.preprocess);
    return api::compare(command.first, command.second, pair.data, options, settings);
  }
  return api::compare(command.first, command.second, std::nullopt, options, settings);
}

int compare(api::CompareCommand& command, const Given&) {
  const auto claim = require(command.html);
  const auto comparison = compared(command);
  if (!command.html.path.empty()) io::write_file(command.html.path, report::as_html(comparison));
  print(command.common, comparison);
  return comparison.equal() ? kDone : kDifference;
}

}  // namespace

void add_compare(const Program& program) { add_verb<api::CompareCommand>(program, compare); }

}  // namespace halfstep::cli
