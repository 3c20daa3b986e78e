#include "cli/command.h"

namespace halfstep::cli {
namespace {

nlohmann::ordered_json json_of(const api::EvaluateResult& report, int64_t top) {
  nlohmann::ordered_json json = {{"stage", name(report.stage)}, {"accuracy", report.accuracy}, {"loss", report.loss},
                                 {"samples", report.samples},   {"tested", report.tested},     {"notes", report.notes}};
  if (report.top) json["top"] = {{"outputs", top}, {"accuracy", *report.top}};
  return json;
}

int evaluate(api::EvalCommand& command, const Given&) {
  const auto [network, data] = load_both(command.common, command.model, command.data, command.options.preprocess);
  const int64_t top = command.options.top;
  const api::EvaluateResult report = api::evaluate(network, data, command.options, settings_of(command.common));
  print_notes(report.notes);
  if (command.common.json) {
    fmt::print("{}", report::to_text(json_of(report, top)));
  } else {
    fmt::print("{} network: accuracy {:.2f} %{}, loss {:.4f} of {} samples: {}\n", name(report.stage),
               100 * report.accuracy, report.top ? fmt::format(", top {} {:.2f} %", top, 100 * *report.top) : "",
               report.loss, report.samples, report.tested);
  }
  return kDone;
}

}  // namespace

void add_eval(const Program& program) { add_verb<api::EvalCommand>(program, evaluate); }

}  // namespace halfstep::cli
