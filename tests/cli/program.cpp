#include "tests/cli/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "halfstep/api/tools/explain.h"

namespace halfstep::test {
namespace {

namespace fs = std::filesystem;

/// Runs in the child process, and never returns.
[[noreturn]] void become(const fs::path& folder, const fs::path& streams, std::vector<std::string> arguments,
                         const Workspace::Environment& environment) {
  arguments.insert(arguments.begin(), HALFSTEP_PROGRAM);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  for (const auto& [key, value] : environment) ::setenv(key.c_str(), value.c_str(), 1);
  const int out = ::open((streams / "out").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  const int err = ::open((streams / "err").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  if (::chdir(folder.c_str()) == 0 && ::dup2(out, STDOUT_FILENO) >= 0 && ::dup2(err, STDERR_FILENO) >= 0)
    ::execv(HALFSTEP_PROGRAM, pointers.data());
  ::_exit(127);
}

}  // namespace

nlohmann::json Outcome::json() const {
  auto parsed = nlohmann::json::parse(out, nullptr, false);
  if (parsed.is_discarded())
    ADD_FAILURE() << "expected JSON on standard output, found: " << out << "\nand on standard error: " << err;
  return parsed;
}

std::vector<Diagnostic> Outcome::errors() const {
  std::vector<Diagnostic> found;
  const auto parsed = nlohmann::json::parse(err, nullptr, false);
  if (parsed.is_discarded()) {
    ADD_FAILURE() << "expected JSON on standard error, found: " << err;
    return found;
  }
  for (const auto& one : parsed.at("errors"))
    found.push_back({.layer = one.at("layer"),
                     .where = one.at("where"),
                     .problem = one.at("problem"),
                     .found = one.at("found"),
                     .expected = one.at("expected"),
                     .remedy = one.at("remedy"),
                     .entry = &api::explain(one.at("name"))});
  return found;
}

std::string read_text(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

Listing listing(const fs::path& folder) {
  Listing files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    files[name] = entry.is_directory() ? "(a folder)" : read_text(entry.path());
  }
  return files;
}

pid_t Workspace::start(const std::vector<std::string>& arguments, const Environment& environment) const {
  const pid_t process = ::fork();
  if (process == 0) become(folder_.path(), streams_.path(), arguments, environment);
  return process;
}

Outcome Workspace::finish(pid_t process) const {
  int status = 0;
  ::waitpid(process, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_text(streams_ / "out"),
          read_text(streams_ / "err")};
}

Outcome Workspace::run(const std::vector<std::string>& arguments, const Environment& environment) {
  return finish(start(arguments, environment));
}

Outcome Workspace::expect(int code, const std::vector<std::string>& arguments, const Environment& environment) {
  Outcome outcome = run(arguments, environment);
  EXPECT_EQ(outcome.code, code) << "halfstep " << testing::PrintToString(arguments) << "\n"
                                << outcome.out << outcome.err;
  return outcome;
}

std::vector<Diagnostic> Workspace::errors(int code, std::vector<std::string> arguments,
                                          const Environment& environment) {
  arguments.emplace_back("--json");
  const Outcome outcome = expect(code, arguments, environment);
  EXPECT_EQ(outcome.out, "");
  return outcome.errors();
}

Outcome Workspace::run_until(const std::vector<std::string>& arguments, const std::string& file, int signal) {
  const pid_t process = start(arguments, {});
  while (!has(file)) {
    int status = 0;
    if (::waitpid(process, &status, WNOHANG) != 0) {
      ADD_FAILURE() << "the program ended before it wrote " << file << ": " << read_text(streams_ / "err");
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ::kill(process, signal);
  return finish(process);
}

Outcome quick_start(Workspace& workspace, const std::vector<std::string>& more, const std::string& out) {
  std::vector<std::string> arguments = {"quickstart", "--epochs", "2", "--tune-epochs", "1", "--json", "--out", out};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return workspace.expect(0, arguments);
}

std::string small_csv() {
  std::string text;
  for (int sample = 0; sample < 40; ++sample) {
    const int label = sample % 10;
    for (int pixel = 0; pixel < 64; ++pixel) text += pixel % 10 == label ? "16," : "1,";
    text += std::to_string(label) + "\n";
  }
  return text;
}

std::string linear_network(const std::string& name) {
  return "graph " + name +
         R"((x: f32[?, $channels, $height, $width]) {
  param @head.w: f32[$classes, 64]
  param @head.b: f32[$classes]
  flat = flatten(x=x)
  head = linear(x=flat, w=@head.w, b=@head.b)
  return logits = head
}
)";
}

}  // namespace halfstep::test
