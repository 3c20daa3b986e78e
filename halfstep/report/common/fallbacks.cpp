#include "halfstep/report/common/fallbacks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "halfstep/report/common/text_table.h"

namespace halfstep::report {

std::string as_text(const std::vector<quant::FloatFallback>& fallbacks) {
  Table table({"float fallback", "operator", "reason"});
  for (const auto& fallback : fallbacks) table.add({fallback.layer, fallback.op, fallback.reason});
  return fmt::format("{} in float, between dequantize and quantize\n{}",
                     fallbacks.size() == 1 ? "1 operator stays" : fmt::format("{} operators stay", fallbacks.size()),
                     table.text());
}

nlohmann::ordered_json list_of(const std::vector<quant::FloatFallback>& fallbacks) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& fallback : fallbacks)
    list.push_back({{"operator", fallback.op}, {"tensor", fallback.layer}, {"reason", fallback.reason}});
  return list;
}

}  // namespace halfstep::report
