// A verb on the command line: a flag for each of its options, --config, --print-config and a grouped help.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "cli/given.h"
#include "halfstep/api/commands.h"

namespace halfstep::cli {

/// A subcommand's work; returns the exit code.
using Work = std::function<int()>;

/// What the subcommands are added to.
struct Program {
  CLI::App& app;
  Work& work;              ///< of the subcommand that is chosen
  bool shows_all = false;  ///< the help has advanced options too
};

/// The subcommand of a verb. `run` is called once the options are read; `given` says which of them the user named.
CLI::App* add_verb(const Program& program, const api::VerbEntry& verb, std::vector<api::BoundOption> options,
                   std::function<int(const Given& given)> run);

template <class Command>
CLI::App* add_verb(const Program& program, int (*run)(Command& command, const Given& given)) {
  const auto command = std::make_shared<Command>();
  return add_verb(program, api::verb_of(*command), api::options_of(*command),
                  [command, run](const Given& given) { return run(*command, given); });
}

}  // namespace halfstep::cli
