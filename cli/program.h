// The program `halfstep`: parses arguments, calls one verb, and turns errors into exit codes.
#pragma once

namespace halfstep::cli {

/// Takes the arguments of `main` and returns the exit code. Call it once in a process, because it handles the process's
/// signals from then on.
int run(int count, const char* const* arguments);

}  // namespace halfstep::cli
