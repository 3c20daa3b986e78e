// Runs the program as a user does: as a separate process in a folder of its own.
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

/// Result of a process: exit code (or minus the signal that ended it) and its output.
struct Outcome {
  int code = 0;
  std::string out, err;
  /// Standard output as JSON. Fails the test when it is not JSON.
  nlohmann::json json() const;
  /// Errors that a command with --json wrote to standard error. Fails the test when there are none.
  std::vector<Diagnostic> errors() const;
};

/// Name and contents of every file below a folder.
using Listing = std::map<std::string, std::string>;
Listing listing(const std::filesystem::path& folder);

std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

/// A temporary folder to run the program in. Removed at the end of the test.
class Workspace {
 public:
  using Environment = std::map<std::string, std::string>;

  /// Runs the program to its end. `environment` is added to the variables of this process.
  Outcome run(const std::vector<std::string>& arguments, const Environment& environment = {});
  /// Like run(), but fails the test when the exit code is not `code`.
  Outcome expect(int code, const std::vector<std::string>& arguments, const Environment& environment = {});
  /// Runs with --json too, and returns the errors.
  std::vector<Diagnostic> errors(int code, std::vector<std::string> arguments, const Environment& environment = {});
  /// Like errors(), but returns the first one.
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

/// A quickstart of few epochs, into the folder `out` of `workspace`. Its JSON output is the report.
Outcome quick_start(Workspace& workspace, const std::vector<std::string>& more = {}, const std::string& out = "quick");

/// Forty samples of 8x8 pixels in ten classes, each class its own columns.
std::string small_csv();

/// A network of one linear layer on 64 pixels, called `name`.
std::string linear_network(const std::string& name);

}  // namespace halfstep::test
