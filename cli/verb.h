// A verb on the command line: a flag for each option, --config, --print-config and a grouped help.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "cli/given.h"
#include "halfstep/api/commands.h"

namespace halfstep::cli {

/// The work of a subcommand. It returns the exit code.
using Work = std::function<int()>;

/// The program that subcommands are added to.
struct Program {
  CLI::App& app;
  Work& work;              ///< work of the chosen subcommand
  bool shows_all = false;  ///< the help lists advanced options too
};

/// Adds the subcommand of a verb. `run` is called after the options are read. `given` holds the options that the user
/// set.
CLI::App* add_verb(const Program& program, const api::VerbEntry& verb, std::vector<api::BoundOption> options,
                   std::function<int(const Given& given)> run);

template <class Command>
CLI::App* add_verb(const Program& program, int (*run)(Command& command, const Given& given)) {
  const auto command = std::make_shared<Command>();
  return add_verb(program, api::verb_of(*command), api::options_of(*command),
                  [command, run](const Given& given) { return run(*command, given); });
}

}  // namespace halfstep::cli
