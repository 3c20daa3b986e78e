// The report page of a quantized network.
#pragma once

#include <string>

#include "halfstep/api/report.h"

namespace halfstep::report {

/// One HTML file without scripts or network access. It contains the verdict, layers, sensitivities, histograms, the
/// audit, training, the proof and the worst samples.
std::string as_html(const api::NetworkReport& report);

/// The content of the page, with the complete JSON of `analyze` and `verify`.
std::string as_json(const api::NetworkReport& report);

/// The verdict in a sentence, and the path of the page.
std::string as_text(const api::NetworkReport& report);

}  // namespace halfstep::report
