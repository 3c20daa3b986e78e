#include "halfstep/core/files/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/temporary_folder.h"

namespace halfstep::io {
namespace {

/// Starts the program on one end of a socket pair. Returns 0 or an errno value.
int spawn(pid_t& process, std::vector<std::string>& words, int socket, const std::filesystem::path& errors) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, socket, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t as_usual;  // signals with default handling in the child, because this process may ignore SIGPIPE
  sigemptyset(&as_usual);
  sigaddset(&as_usual, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &as_usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error = posix_spawnp(&process, arguments[0], &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/// Uses a socket instead of two pipes, because a write to a finished program must not raise a signal.
bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

/// Starts the program. `socket` receives our end of its input and output.
pid_t start(std::vector<std::string>& words, const std::filesystem::path& errors, int& socket) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(errors::program_cannot_be_run(words.front(), system_reason(errno)));
  pid_t process = -1;
  const int error = spawn(process, words, ends[1], errors);
  ::close(ends[1]);
  socket = ends[0];
  if (error == 0) return process;
  ::close(ends[0]);
  fail(errors::program_cannot_be_run(words.front(), system_reason(error)));
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// A program that receives all of its input and is read until it ends.
class RunningProgram {
 public:
  RunningProgram(std::vector<std::string> words, const std::filesystem::path& errors)
      : process_(start(words, errors, socket_)) {}
  ~RunningProgram() {
    ::close(socket_);
    if (process_ >= 0) finish(true);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// Sends and receives data until the program closes its output. Returns false if the time ends first.
  bool exchange(std::string_view input, std::string& output, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    bool sends = true;
    while (true) {
      if (sends && input.empty()) {
        ::shutdown(socket_, SHUT_WR);
        sends = false;
      }
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (left <= 0) return false;
      pollfd ready{socket_, static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0};
      if (::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, 1000))) < 0 && errno != EINTR) return true;
      if (sends && (ready.revents & POLLOUT) != 0) send_some(input);
      if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !read_some(output)) return true;
    }
  }

  /// Waits for the program to end. `now` kills it first.
  int finish(bool now) {
    if (now) ::kill(process_, SIGKILL);
    return wait_for(std::exchange(process_, -1));
  }

 private:
  /// Sends a part of the input. Drops the rest if the program no longer reads it.
  void send_some(std::string_view& input) const {
    const ssize_t sent = ::send(socket_, input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      input.remove_prefix(static_cast<size_t>(sent));
    } else if (errno != EINTR && errno != EAGAIN) {
      input = {};
    }
  }
  bool read_some(std::string& output) const {
    std::array<char, 65536> bytes{};
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    output.append(bytes.data(), static_cast<size_t>(count));
    return count > 0;
  }

  int socket_ = -1;
  pid_t process_ = -1;
};

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> words, const std::filesystem::path& errors)
    : process_(start(words, errors, socket_)) {}

ChildProcess::~ChildProcess() {
  ::close(socket_);
  ::kill(process_, SIGKILL);  // it may still be computing an answer that is no longer needed
  wait_for(process_);
}

std::optional<std::string> ChildProcess::read_line() {
  for (size_t end = unread_.find('\n');; end = unread_.find('\n')) {
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    std::array<char, 4096> bytes{};
    const ssize_t count = ::recv(socket_, bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    unread_.append(bytes.data(), static_cast<size_t>(count));
  }
}

std::optional<std::string> ChildProcess::ask(std::string_view line) {
  if (!send_all(socket_, std::string(line) + "\n")) return std::nullopt;
  return read_line();
}

Ended run_program(std::vector<std::string> words, std::string_view input, double seconds) {
  const TemporaryFolder folder;
  RunningProgram program(std::move(words), folder / "errors");
  Ended ended;
  ended.is_late = !program.exchange(input, ended.output, seconds);
  const int status = program.finish(ended.is_late);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.errors = read_text_file(folder / "errors");
  return ended;
}

std::vector<std::string> split_command(std::string_view command) {
  std::vector<std::string> words;
  char quote = 0;
  bool inside = false;
  for (const char c : command) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? '\0' : c;
      if (!inside) words.emplace_back();
      inside = true;
    } else if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
    } else {
      if (!inside) words.emplace_back();
      inside = true;
      words.back() += c;
    }
  }
  if (quote != 0) fail(errors::quote_without_end(command));
  return words;
}

std::string python_interpreter(const std::string& otherwise) {
  const char* chosen = std::getenv("HALFSTEP_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : otherwise;
}

}  // namespace halfstep::io
