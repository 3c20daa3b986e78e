// Errors of the library: exceptions above the kernels, a Status value inside them.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace halfstep {

enum class ErrorKind {
  bad_input,    ///< wrong use, or a file that is not what it should be; exit code 2
  unsupported,  ///< a correct request that Halfstep or the target cannot do; exit code 3
  interrupted,  ///< the caller asked to stop; exit code 130
  internal      ///< a defect of Halfstep; the message says "this is a bug"
};

/// Every failure that leaves the library. The message reads `where: [rule:] found, expected`, lower case, no full stop.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

/// Throws Error of kind bad_input.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::bad_input, fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error of kind unsupported.
template <class... Args>
[[noreturn]] void unsupported(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::unsupported, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] void internal_error(const char* file, int line, const std::string& what);

/// What a kernel returns: kernels throw nothing. Empty message means success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(std::string message) : message_(std::move(message)) {}
  bool ok() const { return message_.empty(); }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

/// A yes, or the reason why not, as a sentence that a user can read.
class [[nodiscard]] Verdict {
 public:
  static Verdict accepted() { return Verdict({}); }
  static Verdict refused(std::string reason) { return Verdict(std::move(reason)); }
  explicit operator bool() const { return reason_.empty(); }
  const std::string& reason() const { return reason_; }

 private:
  explicit Verdict(std::string reason) : reason_(std::move(reason)) {}
  std::string reason_;
};

template <class... Args>
Verdict refuse(fmt::format_string<Args...> format, Args&&... args) {
  return Verdict::refused(fmt::format(format, std::forward<Args>(args)...));
}
inline Verdict accept() { return Verdict::accepted(); }

}  // namespace halfstep

/// States an invariant of our own code; user input never reaches it.
#define HS_CHECK(condition) ((condition) ? void(0) : ::halfstep::internal_error(__FILE__, __LINE__, #condition))
