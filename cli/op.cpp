#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/table.h"

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
  Table table({"microseconds", "GB/s", "kernel", "problem"});
  for (const verify::OpSpeed& speed : speeds)
    table.add({fmt::format("{:.1f}", speed.microseconds), fmt::format("{:.2f}", speed.gigabytes), speed.kernel,
               speed.problem});
  fmt::print("{}\n", table.text());
}

void print_text(const verify::OpReport& report) {
  if (!report.speeds.empty()) print_speeds(report.speeds);
  Table table({"operator", "cases", "checked", "failed", "skipped"});
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

}  // namespace

void add_op(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    OpRequest request;
  };
  const auto options = std::make_shared<Options>();
  OpRequest& request = options->request;
  CLI::App* command = add_command(
      program, "op", "Check operators against their references, promises, gradients and rules, or time them",
      "halfstep op --mode all 'conv2d x=f32[2,6,9,7] w=f32[4,3,3,3] groups=2 pad=[1,0,2,1]'", options->common);
  auto* problems = command->add_option(
      "problems", request.problems, "OPERATOR PORT=TYPE ... ATTRIBUTE=VALUE ...; without any the cases of the records");
  command->add_option("--operator", request.operators, "which records, as in 'conv2d*'")
      ->capture_default_str()
      ->excludes(problems);
  command->add_option("--mode", request.mode, "check, bitwise, grad, reject, speed, or all but speed")
      ->capture_default_str();
  command->callback([options, &work] {
    work = [options] {
      const verify::OpReport report = run_operators(options->request, options->common.settings());
      options->common.json ? print_json(report) : print_text(report);
      return int{report.passed() ? kDone : kDifference};
    };
  });
}

}  // namespace halfstep::cli
