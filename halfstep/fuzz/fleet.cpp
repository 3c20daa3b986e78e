#include "halfstep/fuzz/fleet.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/file.h"
#include "halfstep/fuzz/errors.h"
#include "halfstep/fuzz/shrink.h"

namespace halfstep::fuzz {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

void send_line(int socket, const std::string& line) {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;  // the reader detects the end
    rest.remove_prefix(static_cast<size_t>(sent));
  }
}

std::string to_line(const Job& job) {
  return Json{{"seed", job.seed}, {"check", job.check}, {"network", job.network.string()}, {"own", job.has_own_target}}
             .dump() +
         "\n";
}

Job job_of(const std::string& line) {
  const Json json = Json::parse(line);
  return {json["seed"], json["check"], json["network"].get<std::string>(), json["own"]};
}

std::string to_line(const Report& report) {
  Json outcomes = Json::array();
  for (const Outcome& outcome : report.outcomes)
    outcomes.push_back({outcome.check, static_cast<int>(outcome.verdict), outcome.what});
  Json quality;
  if (report.quality) quality = {report.quality->sqnr, report.quality->excess};
  return Json{{"outcomes", outcomes},        {"operators", report.operators},
              {"plain", report.plain},       {"keeps_float", report.keeps_float},
              {"converts", report.converts}, {"fallbacks", report.fallbacks},
              {"quality", quality},          {"seconds", report.seconds}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

Report report_of(const std::string& line, const Job& job) {
  const Json json = Json::parse(line);
  Report report{job,
                {},
                json["operators"],
                json["plain"],
                json["converts"],
                json["keeps_float"],
                json["fallbacks"],
                {},
                json["seconds"]};
  if (const Json& quality = json["quality"]; !quality.is_null()) report.quality = {quality[0], quality[1]};
  for (const Json& outcome : json["outcomes"])
    report.outcomes.push_back({outcome[0], static_cast<Verdict>(outcome[1].get<int>()), outcome[2]});
  return report;
}

Report look_at(const Job& job, const FleetOptions& options, Tools& tools,
               const std::function<void(std::string_view)>& begins) {
  const auto begin = Clock::now();
  Report report;
  report.job = job;
  begins("generating");
  const Network network = job.network.empty() ? generate(job.seed) : load_network(job.network);
  const bool is_shrunk = !job.network.empty() && !job.has_own_target;
  const Target target = random_target(job.seed, is_shrunk ? generate(job.seed) : network, options.platform);
  Trial trial(network, target, job.seed, tools);
  report.outcomes = look(trial, job.check, begins);
  report.operators = operators_of(network.model.graph());
  report.plain = network.plain;
  const bool has_rules = quant::load_platform(target.platform, target.overrides).insertion.has_value();
  report.keeps_float = has_rules || !network.elsewhere.empty();
  report.converts = trial.fallbacks().has_value();
  for (const auto& fallback : trial.fallbacks().value_or(std::vector<quant::FloatFallback>()))
    report.fallbacks.insert(fallback.op);
  report.quality = trial.measured();
  report.seconds = since(begin);
  return report;
}

/// Main loop of a worker: reads a job per line and writes result lines.
[[noreturn]] void serve(int socket, const std::filesystem::path& folder, const FleetOptions& options) {
  const int errors = ::open((folder / "stderr").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::dup2(errors, STDERR_FILENO);
  Tools tools;
  tools.folder = folder;
  tools.paths_of = options.paths_of;
  tools.add_c = options.add_c;
  tools.warns_of_crushed = options.warns_of_crushed;
  tools.objections_of = options.objections_of;
  std::unique_ptr<Engine> engine;
  if (!options.interpreter.empty()) engine = std::make_unique<Engine>(options.interpreter, folder);
  if (engine && engine->version()) tools.engine = engine.get();
  std::string unread;
  std::array<char, 4096> buffer{};
  for (;;) {
    const size_t end = unread.find('\n');
    if (end == std::string::npos) {
      const ssize_t count = ::recv(socket, buffer.data(), buffer.size(), 0);
      if (count <= 0) break;
      unread.append(buffer.data(), static_cast<size_t>(count));
      continue;
    }
    const Job job = job_of(unread.substr(0, end));
    unread.erase(0, end + 1);
    const auto begins = [&](std::string_view check) { send_line(socket, "begins " + std::string(check) + "\n"); };
    try {
      send_line(socket, to_line(look_at(job, options, tools, begins)));
    } catch (const std::exception& error) {
      Report report;
      report.job = job;
      report.outcomes = {{"generating", Verdict::found, error.what()}};
      send_line(socket, to_line(report));
    }
  }
  engine.reset();
  ::_exit(0);
}

/// The last output of a sanitizer or the C library.
std::string last_words(const std::filesystem::path& folder) {
  std::ifstream stream(folder / "stderr");
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (line.find("ERROR: ") != std::string::npos || line.find("runtime error") != std::string::npos) return line;
    if (!line.empty()) last = line;
  }
  return last;
}

class Worker {
 public:
  Worker(const FleetOptions& options, std::filesystem::path folder) : options_(options), folder_(std::move(folder)) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool busy() const { return job_.has_value(); }
  int socket() const { return socket_; }

  void give(const Job& job) {
    if (process_ < 0) start();
    job_ = job;
    check_ = "generating";
    begin_ = Clock::now();
    send_line(socket_, to_line(job));
  }

  /// Call it when data arrived. Returns the report if it is complete or the process has ended.
  std::optional<Report> read() {
    std::array<char, 65536> buffer{};
    const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), 0);
    if (count <= 0) return ended("");
    unread_.append(buffer.data(), static_cast<size_t>(count));
    for (size_t end; (end = unread_.find('\n')) != std::string::npos;) {
      const std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      if (line.starts_with("begins ")) {
        check_ = line.substr(7);
        continue;
      }
      const Report report = report_of(line, *job_);
      job_.reset();
      return report;
    }
    return std::nullopt;
  }

  std::optional<Report> look_at_clock() {
    if (!job_ || since(begin_) < options_.seconds_each) return std::nullopt;
    ::kill(process_, SIGKILL);
    return ended("no answer in " + std::to_string(static_cast<int>(options_.seconds_each)) + " s");
  }

 private:
  void start() {
    std::filesystem::create_directories(folder_);
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      fail(errors::worker_not_started("socket", io::system_reason(errno)));
    process_ = ::fork();
    if (process_ < 0) fail(errors::worker_not_started("process", io::system_reason(errno)));
    if (process_ == 0) {
      ::close(ends[0]);
      serve(ends[1], folder_, options_);
    }
    ::close(ends[1]);
    socket_ = ends[0];
  }

  Report ended(std::string why) {
    int status = 0;
    ::close(socket_);
    ::waitpid(process_, &status, 0);
    process_ = -1;
    if (why.empty() && WIFSIGNALED(status)) why = std::string("ended by ") + ::strsignal(WTERMSIG(status));
    if (why.empty()) why = "ended with " + std::to_string(WEXITSTATUS(status));
    if (const std::string words = last_words(folder_); !words.empty()) why += ": " + words;
    Report report;
    report.job = *job_;
    report.outcomes = {{check_, Verdict::found, why}};
    report.seconds = since(begin_);
    job_.reset();
    unread_.clear();
    return report;
  }

  void stop() {
    if (process_ < 0) return;
    ::shutdown(socket_, SHUT_RDWR);  // later forked processes hold this end too, so closing it is not enough
    ::close(socket_);
    if (job_) ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  const FleetOptions& options_;
  std::filesystem::path folder_;
  pid_t process_ = -1;
  int socket_ = -1;
  std::optional<Job> job_;
  std::string check_, unread_;
  Clock::time_point begin_;
};

/// Waits until a worker has data, or for a limited time.
void wait(const std::vector<std::unique_ptr<Worker>>& workers, std::vector<pollfd>& sockets) {
  constexpr int kMilliseconds = 200;
  sockets.clear();
  for (const auto& worker : workers) sockets.push_back({worker->busy() ? worker->socket() : -1, POLLIN, 0});
  ::poll(sockets.data(), sockets.size(), kMilliseconds);
}

}  // namespace

Fleet::Fleet(FleetOptions options) : options_(std::move(options)) {
  std::string name = (std::filesystem::temp_directory_path() / "halfstep-fuzz-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) io::fail_to_make_folder(name, errno);
  folder_ = name;
}

Fleet::~Fleet() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Fleet::run(const std::function<std::optional<Job>()>& next, const std::function<void(const Report&)>& tell) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < options_.processes; ++i)
    workers.push_back(std::make_unique<Worker>(options_, folder_ / std::to_string(i)));
  std::vector<pollfd> sockets;
  for (bool more = true;;) {
    bool busy = false;
    for (const auto& worker : workers) {
      if (more && !worker->busy()) {
        if (const auto job = next()) {
          worker->give(*job);
        } else {
          more = false;
        }
      }
      busy = busy || worker->busy();
    }
    if (!busy) return;
    wait(workers, sockets);
    for (size_t i = 0; i < workers.size(); ++i) {
      if (!workers[i]->busy()) continue;
      auto report = (sockets[i].revents & (POLLIN | POLLHUP)) != 0 ? workers[i]->read() : std::nullopt;
      if (!report) report = workers[i]->look_at_clock();
      if (report) tell(*report);
    }
  }
}

Report Fleet::one(const Job& job) {
  std::optional<Job> waiting = job;
  Report report;
  run([&] { return std::exchange(waiting, std::nullopt); }, [&](const Report& found) { report = found; });
  return report;
}

}  // namespace halfstep::fuzz
