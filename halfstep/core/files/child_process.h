// Programs that this one runs.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::io {

/// A program that answers lines with lines. Its standard input and output are ours, its standard error is a file. It
/// does not outlive this object, which waits for its end; nor this process, whose end is the end of its input.
class ChildProcess {
 public:
  /// The program, looked for in PATH, and its arguments. Throws unsupported where it cannot be started.
  ChildProcess(std::vector<std::string> words, const std::filesystem::path& errors);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The next line that it writes, without its end; nothing when it has closed its output.
  std::optional<std::string> read_line();
  /// Its next line once it has been sent `line`; nothing when it has closed its input or its output.
  std::optional<std::string> ask(std::string_view line);

 private:
  int socket_ = -1;  // before the process, whose start sets it
  pid_t process_ = -1;
  std::string unread_;
};

/// How a program ended.
struct Ended {
  std::string output, errors;  ///< what it wrote, and to standard error
  int code = 0;                ///< its exit code
  int signal = 0;              ///< that ended it; 0: none
  bool is_late = false;        ///< it was ended because its time was over
};

/// Runs a program to its end: `input` is its standard input. Throws unsupported where it cannot be started.
Ended run_program(std::vector<std::string> words, std::string_view input, double seconds);

/// The words of a command as a shell would take them: between spaces, or between quotes. Throws bad_input where a quote
/// does not end.
std::vector<std::string> split_command(std::string_view command);

/// The Python that may have onnxruntime: HALFSTEP_PYTHON, or `otherwise`.
std::string python_interpreter(const std::string& otherwise = "python3");

}  // namespace halfstep::io
