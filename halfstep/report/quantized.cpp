#include "halfstep/report/quantized.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "halfstep/report/islands.h"
#include "halfstep/report/table.h"

namespace halfstep::report {
namespace {

std::string table_of(const std::vector<quant::AuditRow>& rows) {
  Table table({"layer", "operator", "weight", "input", "output"});
  for (const quant::AuditRow& row : rows) table.add({row.layer, row.op, row.weight, row.input, row.output});
  return table.text();
}

nlohmann::ordered_json list_of(const std::vector<quant::AuditRow>& rows) {
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

}  // namespace

std::string as_text(const api::Quantized& quantized) {
  std::string text = fmt::format("{}\n{}\n", quantized.platform, table_of(quantized.audit));
  if (quantized.samples > 0)
    text += fmt::format("calibrated on {} samples; raw values are preprocessed by {}\n", quantized.samples,
                        quantized.preprocess);
  if (!quantized.islands.empty())
    text += fmt::format("{}convert needs --float-islands to keep them\n", as_text(quantized.islands));
  return text;
}

std::string as_json(const api::Quantized& quantized) {
  return nlohmann::ordered_json({{"samples", quantized.samples},
                                 {"audit", list_of(quantized.audit)},
                                 {"float_islands", list_of(quantized.islands)},
                                 {"preprocess", quantized.preprocess},
                                 {"platform", quantized.platform}})
             .dump(2) +
         "\n";
}

}  // namespace halfstep::report
