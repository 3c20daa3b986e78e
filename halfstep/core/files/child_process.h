// Child processes.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::io {

/// A program that answers each line with a line. Standard input and output are connected to this process. Standard
/// error goes to a file. The destructor kills the program and waits for its end. If this process ends first, the input
/// of the program ends.
class ChildProcess {
 public:
  /// `words` are the program, searched in PATH, and its arguments. Throws unsupported if it cannot be started.
  ChildProcess(std::vector<std::string> words, const std::filesystem::path& errors);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Returns the next line of output without its newline, or nullopt if the program has closed its output.
  std::optional<std::string> read_line();
  /// Sends `line` and returns the next line of output. Returns nullopt if the program has closed its input or output.
  std::optional<std::string> ask(std::string_view line);

 private:
  int socket_ = -1;  // declared before the process, because its start sets the socket
  pid_t process_ = -1;
  std::string unread_;
};

/// Result of a program that has ended.
struct Ended {
  std::string output, errors;  ///< standard output and standard error
  int code = 0;                ///< its exit code
  int signal = 0;              ///< signal that ended it; 0: none
  bool is_late = false;        ///< killed because its time ran out
};

/// Runs a program until it ends. `input` is its standard input, `seconds` its time limit. Throws unsupported if it
/// cannot be started.
Ended run_program(std::vector<std::string> words, std::string_view input, double seconds);

/// Splits a command into words as a shell does, at spaces outside quotes. Throws bad_input for an unclosed quote.
std::vector<std::string> split_command(std::string_view command);

/// Returns the Python interpreter for onnxruntime: HALFSTEP_PYTHON if set, else `otherwise`.
std::string python_interpreter(const std::string& otherwise = "python3");

}  // namespace halfstep::io
