// Widths that somebody asks for.
#pragma once

#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::quant {

/// Throws, naming the option, for a number that is no width of codes. Which widths are legal says the platform.
void check_widths(const PrepareOptions& options);

}  // namespace halfstep::quant
