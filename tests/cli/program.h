// The program as a user runs it: a process of its own in a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostic.h"
#include "tests/support/files.h"

namespace halfstep::test {

/// What a process left: exit code (minus the signal that ended it) and what it wrote.
struct Outcome {
  int code = 0;
  std::string out, err;
  /// Standard output as JSON; fails the test when it is none.
  nlohmann::json json() const;
  /// The errors that a command with --json wrote to standard error; fails the test when there are none.
  std::vector<Diagnostic> errors() const;
};

/// Name and contents of every file below a folder.
using Listing = std::map<std::string, std::string>;
Listing listing(const std::filesystem::path& folder);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

/// A folder in which the program is run; gone at the end of the test.
class Workspace {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Runs to the end. `environment` is added to this process's own.
  Outcome run(const std::vector<std::string>& arguments, const Environment& environment = {});
  /// As run; fails the test when the exit code is not `code`.
  Outcome expect(int code, const std::vector<std::string>& arguments, const Environment& environment = {});
  /// Runs with --json too, and gives the errors.
  std::vector<Diagnostic> errors(int code, std::vector<std::string> arguments, const Environment& environment = {});
  /// The first of them.
  Diagnostic error(int code, const std::vector<std::string>& arguments, const Environment& environment = {}) {
    const auto all = errors(code, arguments, environment);
    return all.empty() ? Diagnostic{} : all.front();
  }

  /// Starts the program, waits until `file` exists, sends `signal`, waits for the end.
  Outcome run_until(const std::vector<std::string>& arguments, const std::string& file, int signal);

  std::filesystem::path operator/(const std::string& name) const { return folder_.path() / name; }
  const std::filesystem::path& path() const { return folder_.path(); }
  bool has(const std::string& name) const { return std::filesystem::exists(*this / name); }

 private:
  pid_t start(const std::vector<std::string>& arguments, const Environment& environment) const;
  Outcome finish(pid_t process) const;

  TemporaryFolder folder_, streams_;
};

/// A quickstart of few epochs, into the folder `out` of `workspace`; its output as JSON is the report.
Outcome quick_start(Workspace& workspace, const std::vector<std::string>& more = {}, const std::string& out = "quick");

/// Forty samples of 8x8 pixels in ten classes, each class its own columns.
std::string small_csv();

/// A network of one linear layer on 64 pixels, called `name`.
std::string linear_network(const std::string& name);

}  // namespace halfstep::test
