#include "halfstep/api/tools/fuzz.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "halfstep/api/detail/c_backend.h"
#include "halfstep/api/detail/remedies.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inspect.h"
#include "halfstep/api/verify.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/child_process.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/fuzz/fleet.h"
#include "halfstep/fuzz/networks/node_recipes.h"
#include "halfstep/fuzz/shrink.h"
#include "halfstep/tune/sensitivity/crushed.h"

namespace halfstep::api {
namespace {

/// Treats warnings and undefined behaviour as findings. Returns an empty function without a compiler.
std::function<void(verify::ExecutionPaths&, const std::map<std::string, Dims>&)> c_compiler() {
  CProgramOptions options;
  options.compiler =
      "cc -O1 -std=c99 -Wall -Wextra -Wconversion -pedantic -Werror -fsanitize=undefined "
      "-fsanitize-undefined-trap-on-error";
  try {
    if (io::run_program({"cc", "--version"}, "", 100).code != 0) return {};
  } catch (const Error&) {
    return {};
  }
  return [options](verify::ExecutionPaths& paths, const std::map<std::string, Dims>& extents) {
    add_c(paths, options, extents);
  };
}

using Clock = std::chrono::steady_clock;

constexpr const char* kVerdicts[] = {"fine", "skipped", "refused", "found"};

bool warns_of_crushed(const Model& prepared, const data::Samples& samples, ThreadPool& pool) {
  return !warnings_on_tensors(quant::audit(prepared)).empty() ||
         !sensitivity::crushed_values(prepared, samples, 0, pool).parts.empty();
}

std::vector<Diagnostic> objections_of(const Model& source, const fuzz::Target& target) {
  const TargetInspection found = inspect_target(
      source, {quant::load_platform(target.platform, target.overrides), target.prepare, target.pad_channels});
  std::vector<Diagnostic> all;
  for (const VerbObjections& verb : found.verbs) all.insert(all.end(), verb.objections.begin(), verb.objections.end());
  return all;
}

class FuzzRun {
 public:
  FuzzRun(const FuzzRequest& request, const Settings& settings)
      : request_(request),
        settings_(settings),
        out_(request.out.value_or("")),
        fleet_(options()),
        next_(request.seeds.first),
        last_(request.seeds.last) {
    if (request.seeds.last <= request.seeds.first)
      fail(errors::seeds_out_of_order(request.seeds.first, request.seeds.last));
    require_in_range(request);
    for (const std::string& title : fuzz::importable_operators()) report_.operators[title] = 0;
    for (const auto& recipe : fuzz::all_recipes()) {
      if (fuzz::has_codes(recipe.home)) codes_.insert(recipe.title());
    }
    for (const std::string& title : codes_) report_.on_codes[title] = 0;
    find_networks();
  }

  FuzzReport run() {
    fleet_.run([this] { return next(); }, [this](const fuzz::Report& report) { count(report); });
    report_.seconds = seconds();
    for (auto& [op, measured] : measured_) report_.quality[op] = summed_up(measured);
    for (const auto& [job, outcome] : found_) write(job, outcome);
    return std::move(report_);
  }

 private:
  fuzz::FleetOptions options() const {
    const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    return {settings_.threads > 0 ? settings_.threads : processors,
            request_.seconds_each,
            request_.platform.value_or(""),
            io::python_interpreter(),
            paths_of,
            c_compiler(),
            warns_of_crushed,
            objections_of};
  }
  void find_networks() {
    if (!request_.networks) return;
    for (const auto& entry : std::filesystem::directory_iterator(*request_.networks)) {
      if (entry.path().extension() == ".onnx") networks_.push_back(entry.path().parent_path() / entry.path().stem());
    }
    std::ranges::sort(networks_);
    next_ = 0, last_ = networks_.size();
  }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

  std::optional<fuzz::Job> next() {
    const bool late = request_.seconds && seconds() > *request_.seconds;
    if (next_ >= last_ || late || (request_.stop_at_first && !found_.empty())) return std::nullopt;
    const uint64_t number = next_++;
    const std::string check = request_.check.value_or("");
    if (networks_.empty()) return fuzz::Job{number, check, {}};
    return fuzz::Job{number, check, networks_[number], true};
  }

  void count(const fuzz::Report& report) {
    ++report_.graphs;
    report_.plain += report.plain ? 1 : 0;
    report_.converted += report.converts ? 1 : 0;
    report_.without_fallbacks += report.converts && report.fallbacks.empty() ? 1 : 0;
    if (!report.keeps_float) {
      ++report_.closed;
      report_.closed_without_fallbacks += report.converts && report.fallbacks.empty() ? 1 : 0;
    }
    for (const std::string& op : report.fallbacks) ++report_.fallbacks[op];
    for (const std::string& title : report.operators) {
      ++report_.operators[title];
      if (codes_.contains(title) && report.converts) ++report_.on_codes[title];
    }
    if (report.quality) {
      measured_["all"].push_back(*report.quality);
      for (const std::string& title : report.operators) measured_[title].push_back(*report.quality);
    }
    for (const auto& outcome : report.outcomes) {
      ++report_.outcomes[outcome.check][kVerdicts[static_cast<int>(outcome.verdict)]];
      if (outcome.verdict == fuzz::Verdict::refused) ++report_.refusals[fuzz::message_form(outcome.what)];
      if (outcome.verdict == fuzz::Verdict::skipped) ++report_.skips[outcome.what];
      if (outcome.verdict == fuzz::Verdict::found) found_.emplace_back(report.job, outcome);
    }
    tell();
  }

  static FuzzQuality summed_up(std::vector<fuzz::Trial::Measured>& measured) {
    using Measured = fuzz::Trial::Measured;
    const auto middle = [&](double Measured::*field) {
      const auto at = measured.begin() + static_cast<std::ptrdiff_t>(measured.size() / 2);
      std::ranges::nth_element(measured, at, {}, field);
      return (*at).*field;
    };
    const double most = std::ranges::max(measured, {}, &Measured::excess).excess;
    return {static_cast<int64_t>(measured.size()), middle(&Measured::sqnr), middle(&Measured::excess), most};
  }

  void tell() const {
    if (!settings_.progress) return;
    const double total = static_cast<double>(last_ - (networks_.empty() ? request_.seeds.first : 0)),
                 done = static_cast<double>(report_.graphs);
    double left = seconds() / done * (total - done);
    if (request_.seconds) left = std::min(left, *request_.seconds - seconds());
    settings_.progress(
        {"networks", done, total, fmt::format("{} found, {:.0f} s left", found_.size(), std::max(left, 0.0))});
  }

  /// Whether two findings are of the same kind. A smaller network with another failure does not reproduce the finding.
  static bool alike(const std::string& a, const std::string& b) {
    constexpr size_t kBeginning = 60;  // the rest names operators and extents
    return fuzz::message_form(a).substr(0, kBeginning) == fuzz::message_form(b).substr(0, kBeginning);
  }

  /// Writes the finding and, if there is a folder, the reduced network.
  void write(const fuzz::Job& job, const fuzz::Outcome& outcome) {
    const fuzz::Network network = job.network.empty() ? fuzz::generate(job.seed) : fuzz::load_network(job.network);
    FuzzFinding finding{job.seed,     outcome.check,
                        outcome.what, fuzz::random_target(job.seed, network, request_.platform.value_or("")).text(),
                        job.network,  network.model.graph().node_size()};
    const bool named = outcome.check != "generating";
    if (request_.out && named && job.network.empty()) {
      finding.files = *request_.out / fmt::format("seed_{}_{}", job.seed, outcome.check);
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
      const auto report = fleet_.one({job.seed, outcome.check, stem, false});
      return std::ranges::any_of(report.outcomes, [&](const auto& other) {
        return other.verdict == fuzz::Verdict::found && alike(other.what, outcome.what);
      });
    };
    return fuzz::shrink(fuzz::generate(job.seed), fails);
  }

  void write_text(const FuzzFinding& finding) const {
    io::write_file(finding.files.string() + ".txt",
                   fmt::format("{}: {}\ntarget: {}\nhalfstep fuzz --seeds {}:{} --check {}{}\n", finding.check,
                               finding.what, finding.target, finding.seed, finding.seed + 1, finding.check,
                               request_.platform ? " --platform " + *request_.platform : ""));
  }

  const FuzzRequest& request_;
  const Settings& settings_;
  const Clock::time_point begin_ = Clock::now();
  io::HeldFolder out_;
  fuzz::Fleet fleet_;
  uint64_t next_, last_;
  std::vector<std::filesystem::path> networks_;  ///< networks of a folder, without file extensions
  std::map<std::string, std::vector<fuzz::Trial::Measured>> measured_;
  std::set<std::string> codes_;
  std::vector<std::pair<fuzz::Job, fuzz::Outcome>> found_;
  FuzzReport report_;
};

}  // namespace

FuzzReport run_fuzz(const FuzzRequest& request, const Settings& settings) { return FuzzRun(request, settings).run(); }

}  // namespace halfstep::api
