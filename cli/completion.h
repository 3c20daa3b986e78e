// What may stand at the cursor of a command line, out of the options that the program has.
#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace halfstep::cli {

/// As first argument: bash asks for completions (cli/completion.bash).
inline constexpr std::string_view kComplete = "--complete";

/// Prints, one per line, what may stand at the cursor COMP_POINT of the line COMP_LINE: commands, options, or the
/// choices of an option; nothing where bash should look for files. Returns the exit code.
int print_completions(const CLI::App& program);

}  // namespace halfstep::cli
