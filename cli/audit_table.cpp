#include "cli/audit_table.h"

#include "cli/table.h"

namespace halfstep::cli {

std::string audit_table(const std::vector<quant::AuditRow>& rows) {
  Table table({"layer", "operator", "weight", "input", "output"});
  for (const quant::AuditRow& row : rows) table.add({row.layer, row.op, row.weight, row.input, row.output});
  return table.text();
}

nlohmann::ordered_json audit_json(const std::vector<quant::AuditRow>& rows) {
  auto json = nlohmann::ordered_json::array();
  for (const quant::AuditRow& row : rows) {
    json.push_back({{"layer", row.layer},
                    {"op", row.op},
                    {"weight", row.weight},
                    {"input", row.input},
                    {"output", row.output},
                    {"fully_quantized", row.fully_quantized}});
  }
  return json;
}

}  // namespace halfstep::cli
