#include <fmt/format.h>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

/// Folder of the Models: the named one, else the current one if it holds a report, else the default of quickstart. Both
/// defaults are deprecated.
std::filesystem::path folder_of(const api::VerifyCommand& command) {
  std::error_code failed;
  if (command.paths.size() == 1) {
    if (std::filesystem::is_regular_file(command.paths.front(), failed))
      fail(errors::not_a_quickstart_folder(command.paths.front().string()));
    return command.paths.front();
  }
  const std::string folder = std::filesystem::exists("report.json", failed) ? "." : "quickstart_out";
  if (!command.common.json)
    print_notes(
        {fmt::format("verify: no Model is named, so it reads the folder {} (0.3 will require a name)", folder)});
  return folder;
}

/// Finds the prepared and the integer Model: by options, by two paths, or in the folder.
void find_models(api::VerifyCommand& command) {
  if (command.paths.size() > 2) fail(errors::surplus_argument("verify", command.paths[2].string()));
  if (command.paths.size() == 2) {
    command.prepared = command.paths[0];
    command.integer = command.paths[1];
  }
  if (!command.prepared.empty() && !command.integer.empty()) return;
  const auto folder = folder_of(command);
  if (command.prepared.empty()) command.prepared = folder / "prepared.safetensors";
  if (command.integer.empty()) command.integer = folder / "integer.safetensors";
}

int verify_and_report(api::VerifyCommand& command, const Given&) {
  find_models(command);
  const Model prepared = api::load_stage(command.prepared, api::Stage::prepared);
  const Model integer = api::load_stage(command.integer, api::Stage::integer);
  const api::Dataset data = load_data(command.common, command.data, api::classes_of(prepared));
  const auto paths = api::verify(prepared, integer, data, command.options, settings_of(command.common));
  print_notes(paths.notes);
  print(command.common, paths);
  return paths.equal() ? kDone : kDifference;
}

}  // namespace

void add_verify(const Program& program) { add_verb<api::VerifyCommand>(program, verify_and_report); }

}  // namespace halfstep::cli
