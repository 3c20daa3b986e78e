#include "cli/command.h"

namespace halfstep::cli {
namespace {

int analyze(api::AnalyzeCommand& command, const Given&) {
  api::AnalyzeOptions& options = command.options;
  options.platform = platform_of(command.common, command.target);
  const auto [network, data] = load_both(command.common, command.model, command.data, options.quantize.preprocess);
  const api::AnalyzeResult analysis = api::analyze(network, data, options, settings_of(command.common));
  print_notes(analysis.sensitivity.notes);
  print(command.common, analysis);
  return kDone;
}

}  // namespace

void add_analyze(const Program& program) { add_verb<api::AnalyzeCommand>(program, analyze); }

}  // namespace halfstep::cli
