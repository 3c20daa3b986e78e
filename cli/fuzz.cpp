#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/command.h"

namespace halfstep::cli {
namespace {

nlohmann::ordered_json to_json(const api::FuzzReport& report) {
  auto findings = nlohmann::ordered_json::array();
  for (const api::FuzzFinding& f : report.findings)
    findings.push_back({{"seed", f.seed},
                        {"check", f.check},
                        {"what", f.what},
                        {"target", f.target},
                        {"files", f.files.string()},
                        {"nodes", f.nodes}});
  auto quality = nlohmann::ordered_json::object();
  for (const auto& [op, q] : report.quality)
    quality[op] = {{"graphs", q.graphs}, {"sqnr_db", q.sqnr}, {"excess_db", q.excess}, {"most_excess_db", q.most}};
  return {{"graphs", report.graphs},
          {"plain", report.plain},
          {"converted", report.converted},
          {"without_fallbacks", report.without_fallbacks},
          {"operators", report.operators},
          {"on_codes", report.on_codes},
          {"outcomes", report.outcomes},
          {"fallbacks", report.fallbacks},
          {"quality", quality},
          {"refusals", report.refusals},
          {"skips", report.skips},
          {"findings", findings},
          {"seconds", report.seconds}};
}

/// Prints counts, the most frequent first.
void print_counts(const char* title, const std::map<std::string, int64_t>& counts) {
  if (counts.empty()) return;
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, int64_t>::second);
  fmt::print("{}\n", title);
  for (const auto& [what, count] : sorted) fmt::print("{:8}  {}\n", count, what);
  fmt::print("\n");
}

void print_quality(const std::map<std::string, api::FuzzQuality>& quality) {
  if (quality.empty()) return;
  fmt::print(
      "integer programs with each operator: SQNR against the float network, and its distance below the limit of\n");
  fmt::print("the bit widths (medians of all graphs, and the worst, in dB)\n{:>8} {:>8} {:>8} {:>8}\n", "graphs",
             "SQNR", "below", "worst");
  for (const auto& [op, q] : quality)
    fmt::print("{:8} {:8.1f} {:8.1f} {:8.1f}  {}\n", q.graphs, q.sqnr, q.excess, q.most, op);
  fmt::print("\n");
}

void print_report(const api::FuzzReport& report) {
  print_counts("graphs with each operator", report.operators);
  print_counts("graphs with an integer program that have each operator on codes", report.on_codes);
  print_counts("graphs with each operator left in float", report.fallbacks);
  print_quality(report.quality);
  print_counts("refused", report.refusals);
  print_counts("skipped", report.skips);
  fmt::print("{:12} {:>8} {:>8} {:>8} {:>8}\n", "check", "fine", "refused", "skipped", "found");
  for (const auto& [check, verdicts] : report.outcomes) {
    const auto count = [&](const char* verdict) { return verdicts.contains(verdict) ? verdicts.at(verdict) : 0; };
    fmt::print("{:12} {:8} {:8} {:8} {:8}\n", check, count("fine"), count("refused"), count("skipped"), count("found"));
  }
  fmt::print("\n{} graphs in {:.1f} s, {} with an integer program, {} of them without float fallback\n", report.graphs,
             report.seconds, report.converted, report.without_fallbacks);
  for (const api::FuzzFinding& finding : report.findings)
    fmt::print(
        "found: seed {}, {}: {}\n       target {}{}\n", finding.seed, finding.check, finding.what, finding.target,
        finding.files.empty() ? "" : fmt::format("\n       {}.onnx ({} nodes)", finding.files.string(), finding.nodes));
  fmt::print("{} found\n", report.findings.size());
}

int fuzz(api::FuzzCommand& command, const Given&) {
  const api::FuzzReport report = api::run_fuzz(command.request, settings_of(command.common));
  if (command.common.json)
    fmt::print("{}", report::to_text(to_json(report)));
  else
    print_report(report);
  return report.findings.empty() ? kDone : kDifference;
}

}  // namespace

void add_fuzz(const Program& program) { add_verb<api::FuzzCommand>(program, fuzz); }

}  // namespace halfstep::cli
