#include "cli/command.h"

namespace halfstep::cli {
namespace {

std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string kilobytes(int64_t bytes) { return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1000); }

void print_report(const api::QuickstartReport& report, const std::filesystem::path& out) {
  const auto shown = [&](double share) { return report.has_accuracy ? percent(share) : std::string("no labels"); };
  report::Table accuracy({"network", "accuracy", "file"});
  accuracy.add({"float", shown(report.accuracy_float), kilobytes(report.float_bytes)});
  accuracy.add({"calibrated", shown(report.accuracy_calibrated), ""});
  accuracy.add({"fine-tuned", shown(report.accuracy_finetuned), ""});
  accuracy.add({"integer", shown(report.accuracy_integer), kilobytes(report.integer_bytes)});
  report::Table time({"stage", "seconds"});
  for (const auto& [stage, seconds] : report.seconds) time.add({stage, fmt::format("{:.2f}", seconds)});
  fmt::print("\n{} on {}, {} samples ({})\n\n{}{}\n{}\n{}\n{}", report.platform, report.data, report.samples,
             report.tested, accuracy.text(), report::history_text(report.history), time.text(),
             report::layers_table(report.equivalence), report::verdict(report.equivalence));
  fmt::print(
      "peak memory {:.0f} MB, digest of the trained weights {}\nwrote {}/float.safetensors, prepared.safetensors, "
      "integer.safetensors, report.json\n",
      static_cast<double>(report.peak_rss_bytes) / 1e6, report.weights_digest, out.string());
}

/// Reads the inputs that the options name, and writes the report next to the Models.
api::QuickstartReport report_of(api::QuickstartCommand& command) {
  api::QuickstartRequest& request = command.request;
  api::require_free(request);
  request.platform = load_platform(command.common, command.target);
  if (command.model.empty()) {
    request.data = load_data(command.common, command.data, data::kMaxClasses);
  } else {
    auto [network, data] = load_both(command.common, command.model, command.data, request.quantize.preprocess);
    request.network = std::move(network);
    request.data = std::move(data);
  }
  api::QuickstartReport report = api::quickstart(request, settings_of(command.common)).report;
  report::write(report, request.out);
  return report;
}

int quickstart(api::QuickstartCommand& command, const Given&) {
  const api::QuickstartReport report = report_of(command);
  print_notes(report.notes);
  if (command.common.json)
    fmt::print("{}", report::as_json(report));
  else
    print_report(report, command.request.out);
  return report.equivalence.equal() ? kDone : kDifference;
}

}  // namespace

void add_quickstart(const Program& program) { add_verb<api::QuickstartCommand>(program, quickstart); }

}  // namespace halfstep::cli
