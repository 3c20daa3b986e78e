// Errors of the library: exceptions above the kernels, a Status value inside them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostic.h"
#include "halfstep/core/base/errors.h"

namespace halfstep {

/// Every failure that leaves the library: one diagnostic or more, all found at once.
class Error : public std::runtime_error {
 public:
  explicit Error(Diagnostic diagnostic) : Error(std::vector{std::move(diagnostic)}) {}
  /// At least one.
  explicit Error(std::vector<Diagnostic> diagnostics);

  /// Unsupported where any diagnostic is.
  ErrorKind kind() const { return kind_; }
  /// The id of the first diagnostic.
  std::string_view id() const { return diagnostics_.front().entry->id; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
  ErrorKind kind_;
};

[[noreturn]] void fail(Diagnostic diagnostic);

/// Throws an Error with all of them where there are any.
void fail_on_any(std::vector<Diagnostic> diagnostics);

/// The same error with `prefix` before each place.
Error prefixed(const std::string& prefix, const Error& error);

/// The diagnostic with this layer and place where it has none.
Diagnostic placed(Diagnostic diagnostic, const std::string& layer, const std::string& where);

[[noreturn]] void internal_error(const char* file, int line, const std::string& what);

/// The result of a kernel, which throws nothing: success, or what is wrong.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(Diagnostic wrong) : wrong_(std::make_shared<const Diagnostic>(std::move(wrong))) {}
  bool ok() const { return wrong_ == nullptr; }
  /// Of one that is not ok.
  const Diagnostic& diagnostic() const { return *wrong_; }
  std::string message() const { return ok() ? "" : wrong_->reason(); }

 private:
  std::shared_ptr<const Diagnostic> wrong_;
};

/// A yes, or the reason why not.
class [[nodiscard]] Verdict {
 public:
  static Verdict accepted() { return Verdict(nullptr); }
  static Verdict refused(Diagnostic reason) { return Verdict(std::make_shared<const Diagnostic>(std::move(reason))); }
  explicit operator bool() const { return reason_ == nullptr; }
  /// Of a no.
  const Diagnostic& diagnostic() const { return *reason_; }
  std::string reason() const { return reason_ == nullptr ? "" : reason_->reason(); }

 private:
  explicit Verdict(std::shared_ptr<const Diagnostic> reason) : reason_(std::move(reason)) {}
  std::shared_ptr<const Diagnostic> reason_;
};

inline Verdict refuse(Diagnostic reason) { return Verdict::refused(std::move(reason)); }
inline Verdict accept() { return Verdict::accepted(); }

}  // namespace halfstep

/// States an invariant of our own code; user input never reaches it.
#define HS_CHECK(condition) ((condition) ? void(0) : ::halfstep::internal_error(__FILE__, __LINE__, #condition))
