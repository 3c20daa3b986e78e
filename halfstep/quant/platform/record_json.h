// A platform as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "halfstep/quant/platform/platform.h"

namespace halfstep::quant {

/// The record of record_text as JSON, with typed values.
nlohmann::ordered_json record_json(const Platform& platform);

}  // namespace halfstep::quant
