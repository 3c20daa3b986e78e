#include "cli/command.h"

namespace halfstep::cli {
namespace {

int show_report(api::ReportCommand& command, const Given&) {
  const auto claim = require(command.out);
  const Model prepared = api::load_stage(command.prepared, api::Stage::prepared);
  std::optional<Model> integer;
  if (!command.integer.empty()) integer = api::load_stage(command.integer, api::Stage::integer);
  const api::Dataset data = load_data(command.common, command.data, api::classes_of(prepared));
  api::ReportOptions& options = command.options;
  options.analyze.quantize.preprocess = options.verify.preprocess;
  const api::NetworkReport found = api::report(prepared, integer, data, options, settings_of(command.common));
  io::write_file(command.out.path, report::as_html(found));
  print_notes(found.analysis.sensitivity.notes);
  print_result(command.common, found, command.out.path);
  return found.proof && found.proof->equal() ? kDone : kDifference;
}

}  // namespace

void add_report(const Program& program) { add_verb<api::ReportCommand>(program, show_report); }

}  // namespace halfstep::cli
