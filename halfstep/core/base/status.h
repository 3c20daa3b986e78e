// Error handling: exceptions above the kernels, a Status value inside them.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostic.h"
#include "halfstep/core/base/errors.h"

namespace halfstep {

/// The exception of every failure that leaves the library. It holds one or more diagnostics, all found together.
class Error : public std::runtime_error {
 public:
  explicit Error(Diagnostic diagnostic) : Error(std::vector{std::move(diagnostic)}) {}
  /// `diagnostics` must not be empty.
  explicit Error(std::vector<Diagnostic> diagnostics);

  /// Returns unsupported if any diagnostic has this kind, else the kind of the first one.
  ErrorKind kind() const { return kind_; }
  /// Returns the id of the first diagnostic.
  std::string_view id() const { return diagnostics_.front().entry->id; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  std::vector<Diagnostic> diagnostics_;
  ErrorKind kind_;
};

/// Throws an Error with this diagnostic.
[[noreturn]] void fail(Diagnostic diagnostic);

/// Throws an Error with all diagnostics, if there are any.
void fail_on_any(std::vector<Diagnostic> diagnostics);

/// Returns the error with `prefix` before the place of each diagnostic.
Error prefixed(const std::string& prefix, const Error& error);

/// Returns the diagnostic with `layer` and `where` filled in where these parts are empty.
Diagnostic placed(Diagnostic diagnostic, const std::string& layer, const std::string& where);

/// Throws an Error of kind internal for a defect at this place.
[[noreturn]] void internal_error(const char* file, int line, const std::string& what);

/// Result of a kernel, which throws no exception: success, or the problem.
class [[nodiscard]] Status {
 public:
  Status() = default;
  explicit Status(Diagnostic wrong) : wrong_(std::make_shared<const Diagnostic>(std::move(wrong))) {}
  bool ok() const { return wrong_ == nullptr; }
  /// Valid only if ok() is false.
  const Diagnostic& diagnostic() const { return *wrong_; }
  std::string message() const { return ok() ? "" : wrong_->reason(); }

 private:
  std::shared_ptr<const Diagnostic> wrong_;
};

/// Acceptance, or the reason for a refusal.
class [[nodiscard]] Verdict {
 public:
  static Verdict accepted() { return Verdict(nullptr); }
  static Verdict refused(Diagnostic reason) { return Verdict(std::make_shared<const Diagnostic>(std::move(reason))); }
  explicit operator bool() const { return reason_ == nullptr; }
  /// Valid only for a refusal.
  const Diagnostic& diagnostic() const { return *reason_; }
  std::string reason() const { return reason_ == nullptr ? "" : reason_->reason(); }

 private:
  explicit Verdict(std::shared_ptr<const Diagnostic> reason) : reason_(std::move(reason)) {}
  std::shared_ptr<const Diagnostic> reason_;
};

inline Verdict refuse(Diagnostic reason) { return Verdict::refused(std::move(reason)); }
inline Verdict accept() { return Verdict::accepted(); }

}  // namespace halfstep

/// Checks an invariant of our own code. User input must never make it fail.
#define HS_CHECK(condition) ((condition) ? void(0) : ::halfstep::internal_error(__FILE__, __LINE__, #condition))
