#include <fmt/ranges.h>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

void print_report(const std::filesystem::path& out, const api::ExportResult& report, bool as_json) {
  if (as_json) {
    fmt::print("{}", report::to_text({{"nodes", report.nodes}, {"approximated", report.approximated}}));
    return;
  }
  if (!report.approximated.empty())
    fmt::print("codes may differ from the Model's at {} layers: {}\n", report.approximated.size(),
               fmt::join(report.approximated, ", "));
  fmt::print("wrote {}: {} nodes\n", out.string(), report.nodes);
}

int export_for_tools(const Model& model, const api::ExportCommand& command) {
  const std::vector<std::string> files = api::export_deploy(model, command.out);
  if (command.common.json) fmt::print("{}", report::to_text({{"files", files}}));
  for (const std::string& name : files) {
    if (!command.common.json) fmt::print("wrote {}\n", (command.out.path / name).string());
  }
  return kDone;
}

int export_as_c(Model network, api::ExportCommand& command, bool has_data) {
  command.c.overwrite = command.out.overwrite;
  std::optional<api::Dataset> data;
  if (has_data) data = load_data(command.common, command.data, api::classes_of(network));
  data::change_preprocess(network, command.preprocess);
  const api::ExportCResult written = data ? api::export_c(network, *data, command.out.path, command.c)
                                          : api::export_c(network, command.out.path, command.c);
  fmt::print("{}", command.common.json ? report::as_json(written) : report::as_text(written, command.out.path));
  return kDone;
}

int export_network(api::ExportCommand& command, const Given& given) {
  if (command.options.format == api::ExportFormat::c)
    return export_as_c(api::load(command.model), command, given.has("data"));
  if (command.options.format == api::ExportFormat::deploy) return export_for_tools(api::load(command.model), command);
  const auto claim = require(command.out);
  const auto exported = api::export_onnx(api::load(command.model), command.out.path, command.options);
  print_report(command.out.path, exported, command.common.json);
  return kDone;
}

}  // namespace

void add_export(const Program& program) { add_verb<api::ExportCommand>(program, export_network); }

}  // namespace halfstep::cli
