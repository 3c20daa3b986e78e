#include "halfstep/report/converted.h"

#include <fmt/format.h>

#include "halfstep/report/common/fallbacks.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/text_table.h"

namespace halfstep::report {

std::string as_text(const quant::Conversion& conversion) {
  Table table({"layer", "accumulator bound", "limit", "share"});
  for (const auto& proof : conversion.proofs)
    table.add({proof.layer, std::to_string(proof.bound), std::to_string(proof.limit),
               fmt::format("{:.3f} %", 100.0 * static_cast<double>(proof.bound) / static_cast<double>(proof.limit))});
  return fmt::format("{}\n{}\n", table.text(),
                     conversion.fallbacks.empty() ? "no float operator between quantize and dequantize"
                                                  : as_text(conversion.fallbacks));
}

std::string as_json(const quant::Conversion& conversion) {
  auto layers = nlohmann::ordered_json::array();
  for (const auto& proof : conversion.proofs)
    layers.push_back({{"layer", proof.layer}, {"accumulator_bound", proof.bound}, {"accumulator_limit", proof.limit}});
  return to_text({{"accumulators", layers}, {"float", list_of(conversion.fallbacks)}});
}

}  // namespace halfstep::report
