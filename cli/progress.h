// Progress output: a bar on a terminal, plain lines elsewhere. Ctrl-C becomes Error(interrupted) at the next step.
#pragma once

#include "halfstep/core/base/progress.h"

namespace halfstep::cli {

/// Prints to standard error if `visible`. Checks for interrupts in any case.
ProgressCallback make_progress(bool visible);

/// Makes Ctrl-C and SIGTERM set a flag. A second signal ends the process immediately.
void catch_interrupts();

}  // namespace halfstep::cli
