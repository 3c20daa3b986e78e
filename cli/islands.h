// The option that keeps operators in float.
#pragma once

#include <CLI/CLI.hpp>

#include "halfstep/halfstep.h"

namespace halfstep::cli {

void add_islands_option(CLI::App& command, quant::ConvertOptions& options);

}  // namespace halfstep::cli
