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
  fmt::print("{}\n", json.dump(2));
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
  for (const auto& [reason, count] : report.skips) fmt::print("skipped {} times: {}\n", count, reason);
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
  fmt::print("{}\n", json.dump(2));
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

struct OpCommand {
  Common common;
  std::string mode;
  std::vector<std::string> arguments;
  std::string operators;
  std::string device = "cpu";
  bool all = false;
};

template <class Report>
int finish(const Report& report, bool json) {
  json ? print_json(report) : print_text(report);
  return report.passed() ? kDone : kDifference;
}

int run_golden_command(const OpCommand& command) {
  if (command.arguments.size() != 1)
    fail(errors::number_of_arguments("op", command.mode, command.arguments.size(), "FILE.json"));
  api::GoldenRequest request{command.arguments.front()};
  if (!command.operators.empty()) request.operators = command.operators;
  return finish(api::run_golden(request, command.common.settings()), command.common.json);
}

int run_operators_command(const OpCommand& command) {
  api::OpRequest request;
  request.mode = command.mode;
  request.problems = command.arguments;
  request.device = parse_device(command.device);
  if (!command.operators.empty()) request.operators = command.operators;
  const int ways = !command.arguments.empty() + !command.operators.empty() + command.all;
  if (ways != 1) fail(errors::problems_not_chosen(command.mode, ways == 0 ? "none" : "more than one"));
  return finish(api::run_operators(request, command.common.settings()), command.common.json);
}

}  // namespace

void add_op(CLI::App& program, Work& work) {
  const auto options = std::make_shared<OpCommand>();
  CLI::App* command = add_command(
      program, "op", "Check operators against references, promises, gradients, rules and their originals, or time them",
      "halfstep op check 'conv2d x=f32[2,6,9,7] w=f32[4,3,3,3] groups=2 pad=[1,0,2,1]'\n"
      "         halfstep op bitwise --all\n"
      "         halfstep op golden golden/paddle.json",
      options->common);
  command
      ->add_option("mode", options->mode,
                   "what to hold an operator against; all is all but speed and golden, which takes a file")
      ->check(one_of({"check", "bitwise", "grad", "reject", "speed", "all", "golden"}))
      ->required();
  command->add_option("problems", options->arguments, "OPERATOR PORT=TYPE ... ATTRIBUTE=VALUE ...; or the golden FILE");
  command->add_option("--operator", options->operators, "which records, as in 'conv2d*', with their own cases");
  command->add_flag("--all", options->all, "every record");
  command->add_option("--device", options->device, "of check and speed: cpu, sim, cuda or cuda:N")
      ->capture_default_str();
  command->callback([options, &work] {
    work = [options] {
      return options->mode == "golden" ? run_golden_command(*options) : run_operators_command(*options);
    };
  });
}

}  // namespace halfstep::cli
