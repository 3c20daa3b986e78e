#include "cli/command.h"

namespace halfstep::cli {
namespace {

int describe_data(api::DataCommand& command, const Given&) {
  const auto claim = require(command.sheet);
  const api::Dataset data = load_data(command.common, command.data, data::kMaxClasses);
  print(command.common, api::inspect_data(data, settings_of(command.common)));
  if (command.sheet.path.empty()) return kDone;
  api::write_contact_sheet(data, command.sheet.path);
  if (!command.common.json) fmt::print("wrote {}\n", command.sheet.path.string());
  return kDone;
}

}  // namespace

void add_data_command(const Program& program) { add_verb<api::DataCommand>(program, describe_data); }

}  // namespace halfstep::cli
