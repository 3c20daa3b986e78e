#include "cli/command.h"

namespace halfstep::cli {
namespace {

int dump(api::DumpCommand& command, const Given&) {
  const auto pair = load_both(command.common, command.model, command.data, command.options.preprocess);
  print(command.common, api::dump(pair.network, pair.data, command.out, command.options, settings_of(command.common)));
  return kDone;
}

}  // namespace

void add_dump(const Program& program) { add_verb<api::DumpCommand>(program, dump); }

}  // namespace halfstep::cli
