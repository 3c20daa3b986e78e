#include "halfstep/report/common/islands.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "halfstep/report/common/text_table.h"

namespace halfstep::report {

std::string as_text(const std::vector<quant::FloatIsland>& islands) {
  Table table({"stays in float", "operator", "because"});
  for (const auto& island : islands) table.add({island.layer, island.op, island.reason});
  return fmt::format("{} in float, between dequantize and quantize\n{}",
                     islands.size() == 1 ? "1 operator stays" : fmt::format("{} operators stay", islands.size()),
                     table.text());
}

nlohmann::ordered_json list_of(const std::vector<quant::FloatIsland>& islands) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& island : islands)
    list.push_back({{"operator", island.op}, {"tensor", island.layer}, {"reason", island.reason}});
  return list;
}

}  // namespace halfstep::report
