#include "halfstep/report/bits.h"

#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/common/text_table.h"
#include "halfstep/report/repaired.h"
#include "halfstep/report/trained.h"
#include "halfstep/report/verified.h"

namespace halfstep::report {
namespace {

using allocation::Costs;
using allocation::Currency;
using allocation::Group;
using allocation::Layer;
using allocation::Point;
using nlohmann::ordered_json;

std::string percent(const std::optional<double>& right) {
  return right ? fmt::format("{:.2f}", 100 * *right) : std::string("-");
}

std::string latency_text(const Costs& costs) {
  return costs.latency && std::isfinite(*costs.latency) ? in_words(Currency::latency, *costs.latency)
                                                        : std::string("-");
}

std::vector<std::string> row_of(const Point& point) {
  return {point.what,
          in_words(Currency::size, point.costs.size),
          in_words(Currency::bitops, point.costs.bitops),
          latency_text(point.costs),
          fmt::format("{:.4f}", point.sensitivity),
          fmt::format("{:.4f}", point.loss),
          percent(point.right)};
}

Table table_of_points(const allocation::Allocation& result, const std::string& first) {
  return Table(
      {first, "size", "bitops", "latency", "predicted loss", "loss", result.has_labels ? "accuracy" : "agreement"});
}

std::string width_text(const allocation::Allocation& result, int group) {
  return group < 0 ? "-" : fmt::format("{}", result.chosen.assignment[static_cast<size_t>(group)]);
}

/// Layers with weights, and the bit widths of their weights and inputs.
std::string layers_text(const allocation::Allocation& result) {
  Table table({"layer", "operator", "weights", "reads"});
  for (const Layer& layer : result.layout.layers) {
    if (layer.weight >= 0)
      table.add({layer.name, layer.op, width_text(result, layer.weight), width_text(result, layer.reads)});
  }
  return table.text();
}

std::string costs_text(const allocation::Allocation& result) {
  std::string text;
  for (const allocation::Budget& budget : result.budgets) {
    text += fmt::format("{} {} of {}", name(budget.currency),
                        in_words(budget.currency, result.chosen.costs.of(budget.currency)),
                        in_words(budget.currency, budget.most));
    const bool is_measured =
        budget.currency == Currency::size || (budget.currency == Currency::latency && result.measured.latency);
    if (is_measured)
      text += fmt::format(", measured {}", in_words(budget.currency, result.measured.of(budget.currency)));
    if (budget.currency == Currency::latency) text += fmt::format(" (by {})", result.latency_source);
    text += "\n";
  }
  const double gap = result.chosen.sensitivity - result.bound;
  return text + (gap <= 1e-6 * std::max(1.0, result.chosen.sensitivity)
                     ? "no legal bit widths within the budget have a lower predicted loss (gap 0)\n"
                     : fmt::format("predicted loss at most {:.4g} above the possible minimum\n", gap));
}

ordered_json to_json(const Costs& costs) {
  ordered_json json = {{"size", costs.size}, {"bitops", costs.bitops}};
  json["latency_ms"] = costs.latency ? ordered_json(*costs.latency) : nullptr;
  return json;
}

ordered_json to_json(const Point& point, bool has_labels) {
  ordered_json json = {{"what", point.what},
                       {"bit_widths", point.assignment},
                       {"costs", to_json(point.costs)},
                       {"predicted_loss", point.sensitivity},
                       {"loss", point.loss}};
  if (point.right) json[has_labels ? "accuracy" : "agreement"] = *point.right;
  return json;
}

ordered_json points_in_json(const std::vector<Point>& points, bool has_labels) {
  ordered_json json = ordered_json::array();
  for (const Point& point : points) json.push_back(to_json(point, has_labels));
  return json;
}

ordered_json groups_in_json(const allocation::Allocation& result) {
  ordered_json groups = ordered_json::array();
  for (size_t g = 0; g < result.layout.groups.size(); ++g) {
    const Group& group = result.layout.groups[g];
    ordered_json sensitivity = ordered_json::object();
    for (const auto& [width, loss] : result.sensitivity[g]) sensitivity[fmt::format("{}", width)] = loss;
    groups.push_back({{"tensor", group.tensor},
                      {"layer", group.layer},
                      {"is_weight", group.is_weight},
                      {"bits", result.chosen.assignment[g]},
                      {"before", group.now},
                      {"legal", group.bit_widths},
                      {"loss_alone", sensitivity}});
  }
  return groups;
}

/// The steps that followed the choice of bit widths, or commands for them.
std::string follow_up_text(const api::BitsResult& bits) {
  std::string text = "the network is prepared and calibrated with these bit widths";
  if (!bits.repaired && !bits.trained && !bits.proof)
    return text + ". Next steps, as needed: quantize --repair, train, convert, verify\n";
  text += "\n";
  if (bits.repaired) text += "\n" + as_text(*bits.repaired);
  if (bits.trained) text += "\n" + as_text(*bits.trained);
  if (bits.proof) text += "\n" + as_text(bits.proof->equivalence);
  return text;
}

}  // namespace

std::string as_text(const api::BitsResult& bits) {
  const allocation::Allocation& result = bits.allocation;
  Table points = table_of_points(result, "bit widths");
  points.add(row_of(result.before));
  for (const Point& point : result.uniform) points.add(row_of(point));
  points.add(row_of(result.chosen));
  Table front = table_of_points(result, "front");
  for (const Point& point : result.front) front.add(row_of(point));
  const std::string in_float =
      result.in_float.right ? fmt::format(", {} % in float", percent(result.in_float.right)) : std::string();
  return fmt::format(
      "network {} on platform {}; loss is the distance to the float network on {} samples{}\n\n{}\n{}\n{}\n{}\n{}",
      bits.network, bits.platform, grouped(result.samples), in_float, layers_text(result), points.text(), front.text(),
      costs_text(result), follow_up_text(bits));
}

std::string as_json(const api::BitsResult& bits) {
  const allocation::Allocation& result = bits.allocation;
  ordered_json json = {{"network", bits.network},
                       {"platform", bits.platform},
                       {"samples", result.samples},
                       {"has_labels", result.has_labels}};
  if (result.in_float.right) json[result.has_labels ? "float_accuracy" : "float_agreement"] = *result.in_float.right;
  json["budgets"] = ordered_json::array();
  for (const allocation::Budget& budget : result.budgets)
    json["budgets"].push_back({{"of", name(budget.currency)}, {"most", budget.most}});
  json["groups"] = groups_in_json(result);
  json["before"] = to_json(result.before, result.has_labels);
  json["chosen"] = to_json(result.chosen, result.has_labels);
  json["measured"] = to_json(result.measured);
  json["latency_source"] = result.latency_source;
  json["least_predicted_loss"] = result.bound;
  json["gap"] = std::max(0.0, result.chosen.sensitivity - result.bound);
  json["nodes"] = result.nodes;
  json["uniform"] = points_in_json(result.uniform, result.has_labels);
  json["front"] = points_in_json(result.front, result.has_labels);
  json["notes"] = result.notes;
  if (bits.repaired) json["repair"] = to_json(*bits.repaired);
  if (bits.trained) json["training"] = to_json(*bits.trained);
  if (bits.proof) json["proof"] = to_json(bits.proof->equivalence);
  return to_text(json);
}

}  // namespace halfstep::report
