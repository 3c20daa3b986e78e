// A program that answers lines with lines.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::io {

/// Its standard input and output are ours, its standard error is a file. It does not outlive this object, which waits
/// for its end; nor this process, whose end is the end of its input.
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
  pid_t process_ = -1;
  int socket_ = -1;
  std::string unread_;
};

/// The Python that may have onnxruntime: HALFSTEP_PYTHON, or python3.
std::string python_interpreter();

}  // namespace halfstep::io
