// The program `halfstep`: parses, calls one verb, turns errors into exit codes.
#pragma once

namespace halfstep::cli {

/// As `main` is called; returns the exit code. Once in a process, whose signals it handles from then on.
int run(int count, const char* const* arguments);

}  // namespace halfstep::cli
