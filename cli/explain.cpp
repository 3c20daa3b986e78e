#include "halfstep/api/tools/explain.h"

#include "cli/command.h"

namespace halfstep::cli {
namespace {

int explain(api::ExplainCommand& command, const Given&) {
  if (command.id.empty())
    print(command.common, api::all_errors());
  else
    print(command.common, api::explain(command.id));
  return kDone;
}

}  // namespace

void add_explain(const Program& program) { add_verb<api::ExplainCommand>(program, explain); }

}  // namespace halfstep::cli
