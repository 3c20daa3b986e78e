#include "cli/islands.h"

#include <fmt/format.h>

#include "cli/table.h"

namespace halfstep::cli {

void add_islands_option(CLI::App& command, quant::ConvertOptions& options) {
  command.add_flag("--float-islands", options.float_islands,
                   "keep operators that have no form on codes in float, instead of refusing them");
}

std::string islands_text(const std::vector<quant::FloatIsland>& islands) {
  Table table({"stays in float", "operator", "because"});
  for (const auto& island : islands) table.add({island.layer, island.op, island.reason});
  return fmt::format("{} in float, between dequantize and quantize\n{}",
                     islands.size() == 1 ? "1 operator stays" : fmt::format("{} operators stay", islands.size()),
                     table.text());
}

nlohmann::ordered_json islands_json(const std::vector<quant::FloatIsland>& islands) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& island : islands)
    list.push_back({{"layer", island.layer}, {"op", island.op}, {"reason", island.reason}});
  return list;
}

}  // namespace halfstep::cli
