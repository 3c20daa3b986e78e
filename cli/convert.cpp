#include "cli/command.h"

namespace halfstep::cli {
namespace {

int convert(api::ConvertCommand& command, const Given&) {
  const auto claim = require(command.out);
  const auto conversion = api::convert(api::load_stage(command.model, api::Stage::prepared), command.options);
  api::save(conversion.model, command.out.path);
  print_result(command.common, conversion, command.out.path);
  return kDone;
}

}  // namespace

void add_convert(const Program& program) { add_verb<api::ConvertCommand>(program, convert); }

}  // namespace halfstep::cli
