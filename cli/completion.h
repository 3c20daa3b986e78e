// Completions for a command line, from the options of the program.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace halfstep::cli {

/// First argument of the program when bash asks for completions (cli/completion.bash).
inline constexpr std::string_view kComplete = "--complete";

/// Prints the candidates at the cursor COMP_POINT of the line COMP_LINE, one per line: commands, options, or choices of
/// an option. Prints nothing if bash should complete a file name. Returns the exit code.
int print_completions(const CLI::App& program);

}  // namespace halfstep::cli
