#include "halfstep/api/fuzz.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <set>
#include <thread>

#include "halfstep/api/c_road.h"
#include "halfstep/api/verify.h"
#include "halfstep/fuzz/fleet.h"
#include "halfstep/fuzz/recipe.h"
#include "halfstep/fuzz/shrink.h"
#include "halfstep/io/child_process.h"

namespace halfstep::api {
namespace {

/// Warnings and undefined behaviour are findings too. Nothing where there is no compiler.
std::function<void(verify::Roads&, const std::map<std::string, Dims>&)> c_compiler() {
  CRoadOptions options;
  options.compiler =
      "cc -O1 -std=c99 -Wall -Wextra -Wconversion -pedantic -Werror -fsanitize=undefined "
      "-fsanitize-undefined-trap-on-error";
  try {
    if (io::run_program({"cc", "--version"}, "", 10).code != 0) return {};
  } catch (const Error&) {
    return {};
  }
  return
      [options](verify::Roads& roads, const std::map<std::string, Dims>& extents) { add_c(roads, options, extents); };
}

using Clock = std::chrono::steady_clock;

constexpr const char* kVerdicts[] = {"fine", "skipped", "refused", "found"};

class FuzzRun {
 public:
  FuzzRun(const FuzzRequest& request, const Settings& settings)
      : request_(request), settings_(settings), fleet_(options()), next_(request.first) {
    if (request.last < request.first)
      fail("seeds: found {}:{}, expected the first seed before the last", request.first, request.last);
    for (const std::string& title : fuzz::importable_operators()) report_.operators[title] = 0;
    for (const auto& recipe : fuzz::all_recipes()) {
      if (recipe.home != fuzz::Home::floats) codes_.insert(recipe.title());
    }
    for (const std::string& title : codes_) report_.on_codes[title] = 0;
  }

  FuzzReport run() {
    fleet_.run([this] { return next(); }, [this](const fuzz::Report& report) { count(report); });
    report_.seconds = seconds();
    for (const auto& [job, outcome] : found_) write(job, outcome);
    return std::move(report_);
  }

 private:
  fuzz::FleetOptions options() const {
    const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return {settings_.threads > 0 ? settings_.threads : processors,
            request_.seconds_each,
            request_.platform,
            io::python_interpreter(),
            roads_of,
            c_compiler()};
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  std::optional<fuzz::Job> next() {
    const bool late = request_.seconds > 0 && seconds() > request_.seconds;
    if (next_ >= request_.last || late || (request_.stop_at_first && !found_.empty())) return std::nullopt;
    return fuzz::Job{next_++, request_.check, {}};
  }

  void count(const fuzz::Report& report) {
    ++report_.graphs;
    report_.plain += report.plain ? 1 : 0;
    report_.converted += report.converts ? 1 : 0;
    report_.without_islands += report.converts && report.islands.empty() ? 1 : 0;
    for (const std::string& op : report.islands) ++report_.islands[op];
    for (const std::string& title : report.operators) {
      ++report_.operators[title];
      if (codes_.contains(title) && report.converts) ++report_.on_codes[title];
    }
    for (const auto& outcome : report.outcomes) {
      ++report_.outcomes[outcome.check][kVerdicts[static_cast<int>(outcome.verdict)]];
      if (outcome.verdict == fuzz::Verdict::refused) ++report_.refusals[fuzz::message_form(outcome.what)];
      if (outcome.verdict == fuzz::Verdict::skipped) ++report_.skips[outcome.what];
      if (outcome.verdict == fuzz::Verdict::found) found_.emplace_back(report.job, outcome);
    }
    tell();
  }

  void tell() const {
    if (!settings_.progress) return;
    const double total = static_cast<double>(request_.last - request_.first),
                 done = static_cast<double>(report_.graphs);
    double left = seconds() / done * (total - done);
    if (request_.seconds > 0) left = std::min(left, request_.seconds - seconds());
    settings_.progress(
        {"networks", done, total, fmt::format("{} found, {:.0f} s left", found_.size(), std::max(left, 0.0))});
  }

  /// Whether two findings are of one kind: a smaller network that fails otherwise is another story.
  static bool alike(const std::string& a, const std::string& b) {
    constexpr size_t kBeginning = 60;  // what follows names operators and extents
    return fuzz::message_form(a).substr(0, kBeginning) == fuzz::message_form(b).substr(0, kBeginning);
  }

  /// The finding, and where there is a folder for it the shrunk network.
  void write(const fuzz::Job& job, const fuzz::Outcome& outcome) {
    FuzzFinding finding{job.seed,     outcome.check,
                        outcome.what, fuzz::random_target(job.seed, fuzz::generate(job.seed), request_.platform).text(),
                        "",           0};
    const bool named = outcome.check != "generating";
    if (!request_.out.empty() && named) {
      std::filesystem::create_directories(request_.out);
      finding.files = request_.out / fmt::format("seed_{}_{}", job.seed, outcome.check);
      const fuzz::Network small = shrunk(job, outcome);
      fuzz::save_network(small, finding.files);
      finding.nodes = small.model.graph().node_size();
      write_text(finding);
    }
    report_.findings.push_back(std::move(finding));
  }

  fuzz::Network shrunk(const fuzz::Job& job, const fuzz::Outcome& outcome) {
    const auto stem = fleet_.folder() / "shrinking";
    const auto fails = [&](const fuzz::Network& network) {
      fuzz::save_network(network, stem);
      const auto report = fleet_.one({job.seed, outcome.check, stem});
      return std::ranges::any_of(report.outcomes, [&](const auto& other) {
        return other.verdict == fuzz::Verdict::found && alike(other.what, outcome.what);
      });
    };
    return fuzz::shrink(fuzz::generate(job.seed), fails);
  }

  void write_text(const FuzzFinding& finding) const {
    std::ofstream stream(finding.files.string() + ".txt");
    stream << fmt::format("{}: {}\ntarget: {}\nhalfstep fuzz --seeds {}:{} --check {}{}\n", finding.check, finding.what,
                          finding.target, finding.seed, finding.seed + 1, finding.check,
                          request_.platform.empty() ? "" : " --platform " + request_.platform);
  }

  const FuzzRequest& request_;
  const Settings& settings_;
  const Clock::time_point begin_ = Clock::now();
  fuzz::Fleet fleet_;
  uint64_t next_;
  std::set<std::string> codes_;
  std::vector<std::pair<fuzz::Job, fuzz::Outcome>> found_;
  FuzzReport report_;
};

}  // namespace

FuzzReport run_fuzz(const FuzzRequest& request, const Settings& settings) { return FuzzRun(request, settings).run(); }

}  // namespace halfstep::api
