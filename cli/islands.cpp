#include "cli/islands.h"

namespace halfstep::cli {

void add_islands_option(CLI::App& command, quant::ConvertOptions& options) {
  command.add_flag("--float-islands", options.float_islands,
                   "keep operators that have no form on codes in float, instead of refusing them");
}

}  // namespace halfstep::cli
