#include "halfstep/io/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "halfstep/base/status.h"
#include "halfstep/io/file.h"

extern char** environ;

namespace halfstep::io {
namespace {

/// Starts the program on one end of a socket; returns what errno would be.
int spawn(pid_t& process, std::vector<std::string>& words, int socket, const std::filesystem::path& errors) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, socket, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, socket, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int error = posix_spawnp(&process, arguments[0], &files, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/// A socket and not two pipes: writing to a program that has ended must not raise a signal.
bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace

ChildProcess::ChildProcess(std::vector<std::string> words, const std::filesystem::path& errors) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    unsupported("{}: cannot be run: {}", words.front(), system_reason(errno));
  const int error = spawn(process_, words, ends[1], errors);
  ::close(ends[1]);
  if (error == 0) {
    socket_ = ends[0];
    return;
  }
  ::close(ends[0]);
  unsupported("{}: cannot be run: {}", words.front(), system_reason(error));
}

ChildProcess::~ChildProcess() {
  ::close(socket_);
  ::kill(process_, SIGKILL);  // it may be at work, and nobody wants the answer
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
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

std::string python_interpreter() {
  const char* chosen = std::getenv("HALFSTEP_PYTHON");
  return chosen != nullptr && *chosen != '\0' ? chosen : "python3";
}

}  // namespace halfstep::io
