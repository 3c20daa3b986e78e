#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

void print_json(const verify::OpReport& report) {
  nlohmann::ordered_json json;
  json["passed"] = report.passed();
  json["operators"] = nlohmann::ordered_json::array();
  for (const verify::OpRow& row : report.rows)
    json["operators"].push_back({{"operator", row.op},
                                 {"cases", row.cases},
                                 {"checked", row.checked},
                                 {"failed", row.failed},
                                 {"skipped", row.skipped}});
  json["failures"] = nlohmann::ordered_json::array();
  for (const verify::OpFailure& failure : report.failures)
    json["failures"].push_back({{"what", failure.what}, {"reproduce", failure.reproduce}});
  json["skips"] = report.skips;
  for (const verify::OpSpeed& speed : report.speeds)
    json["speeds"].push_back({{"problem", speed.problem},
                              {"kernel", speed.kernel},
                              {"microseconds", speed.microseconds},
                              {"gigabytes_per_second", speed.gigabytes}});
  fmt::print("{}", report::to_text(json));
}

void print_speeds(const std::vector<verify::OpSpeed>& speeds) {
  report::Table table({"microseconds", "GB/s", "kernel", "problem"});
  for (const verify::OpSpeed& speed : speeds)
    table.add({fmt::format("{:.1f}", speed.microseconds), fmt::format("{:.2f}", speed.gigabytes), speed.kernel,
               speed.problem});
  fmt::print("{}\n", table.text());
}

void print_text(const verify::OpReport& report) {
  if (!report.speeds.empty()) print_speeds(report.speeds);
  report::Table table({"operator", "cases", "checked", "failed", "skipped"});
  verify::OpRow total;
  for (const verify::OpRow& row : report.rows) {
    table.add({row.op, std::to_string(row.cases), std::to_string(row.checked), std::to_string(row.failed),
               std::to_string(row.skipped)});
    total.cases += row.cases;
    total.checked += row.checked;
    total.failed += row.failed;
    total.skipped += row.skipped;
  }
  fmt::print("{}", table.text());
  report::Table skips({"skipped", "reason"});
  for (const auto& [reason, count] : report.skips) skips.add({std::to_string(count), reason});
  if (!report.skips.empty()) fmt::print("{}", skips.text());
  for (const verify::OpFailure& failure : report.failures)
    fmt::print("FAILED {}\n  {}\n", failure.what, failure.reproduce);
  fmt::print("{} operators, {} cases, {} checked, {} failed, {} skipped\n", report.rows.size(), total.cases,
             total.checked, total.failed, total.skipped);
}

nlohmann::ordered_json to_json(const verify::GoldenRow& row) {
  return {{"operator", row.op},
          {"cases", row.cases},
          {"elements", row.elements},
          {"differing_bits", row.differing_bits},
          {"errors_expected", row.errors_expected},
          {"errors_met", row.errors_met},
          {"deliberate", row.deliberate},
          {"failed", row.failed}};
}

void print_json(const verify::GoldenReport& report) {
  nlohmann::ordered_json json;
  json["passed"] = report.passed();
  json["operators"] = nlohmann::ordered_json::array();
  for (const verify::GoldenRow& row : report.rows) json["operators"].push_back(to_json(row));
  json["failures"] = nlohmann::ordered_json::array();
  for (const verify::GoldenFailure& failure : report.failures)
    json["failures"].push_back({{"case", failure.id}, {"what", failure.what}});
  json["deliberate"] = report.deliberate;
  fmt::print("{}", report::to_text(json));
}

std::vector<std::string> cells(const verify::GoldenRow& row) {
  return {row.op,
          std::to_string(row.cases),
          std::to_string(row.elements),
          std::to_string(row.differing_bits),
          fmt::format("{} of {}", row.errors_met, row.errors_expected),
          std::to_string(row.deliberate),
          std::to_string(row.failed)};
}

void print_text(const verify::GoldenReport& report) {
  report::Table table({"operator", "cases", "elements", "differing bits", "errors met", "deliberate", "failed"});
  verify::GoldenRow total{"all"};
  for (const verify::GoldenRow& row : report.rows) {
    table.add(cells(row));
    total.cases += row.cases;
    total.elements += row.elements;
    total.differing_bits += row.differing_bits;
    total.errors_met += row.errors_met;
    total.errors_expected += row.errors_expected;
    total.deliberate += row.deliberate;
    total.failed += row.failed;
  }
  table.add(cells(total));
  fmt::print("{}", table.text());
  for (const auto& [reason, count] : report.deliberate) fmt::print("deliberate, {} cases: {}\n", count, reason);
  for (const verify::GoldenFailure& failure : report.failures) fmt::print("FAILED {}: {}\n", failure.id, failure.what);
}

template <class Report>
int finish(const Report& report, bool json) {
  json ? print_json(report) : print_text(report);
  return report.passed() ? kDone : kDifference;
}

int run_golden_command(const api::OpCommand& command) {
  const api::OpRequest& options = command.options;
  if (options.problems.size() != 1)
    fail(errors::number_of_arguments("op", name(options.mode), options.problems.size(), "FILE.json"));
  api::GoldenRequest request{options.problems.front()};
  if (options.operators) request.operators = *options.operators;
  return finish(api::run_golden(request, settings_of(command.common)), command.common.json);
}

int run_operators_command(const api::OpCommand& command) {
  const api::OpRequest& options = command.options;
  const int ways = !options.problems.empty() + options.operators.has_value() + command.all;
  if (ways != 1) fail(errors::problems_not_chosen(name(options.mode), ways == 0 ? "none" : "more than one"));
  return finish(api::run_operators(options, settings_of(command.common)), command.common.json);
}

int check_operators(api::OpCommand& command, const Given&) {
  return command.options.mode == api::OpCheck::golden ? run_golden_command(command) : run_operators_command(command);
}

}  // namespace

void add_op(const Program& program) { add_verb<api::OpCommand>(program, check_operators); }

}  // namespace halfstep::cli
