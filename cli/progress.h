// Progress for people: a bar on a terminal, plain lines elsewhere. Ctrl-C becomes Error(interrupted) at the next step.
#pragma once

#include "halfstep/core/base/progress.h"

namespace halfstep::cli {

/// Prints to standard error when `visible`; always notices interrupts.
ProgressCallback make_progress(bool visible);

/// Ctrl-C and SIGTERM raise a flag from now on; a second one ends the process at once.
void catch_interrupts();

}  // namespace halfstep::cli
