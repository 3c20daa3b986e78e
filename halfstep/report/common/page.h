// A quantized network on one page, for those who decide and for those who build.
#pragma once

#include <string>

#include "halfstep/api/report.h"

namespace halfstep::report {

/// The verdict, layers, sensitivities, histograms, the audit, training, the proof and the worst samples: one HTML file
/// without script or network.
std::string as_html(const api::NetworkReport& report);

/// What the page shows, with everything that `analyze` and `verify` have as JSON.
std::string as_json(const api::NetworkReport& report);

/// The verdict in a sentence, and where the page is.
std::string as_text(const api::NetworkReport& report);

}  // namespace halfstep::report
