// Allowed ranges of numeric options. The command line, configuration files, Python and C++ share them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/core/base/status.h"

namespace halfstep {

struct Limits {
  double least, most;
  bool is_whole = true;
  bool above = false, below = false;  ///< exclude the bound itself: above excludes `least`, below excludes `most`

  /// False for NaN and infinities too.
  bool contains(double number) const;
  /// Returns the range as text: "1 to 1024", "at least 0 and below 1", "above 0 and at most 100". An upper limit that
  /// users do not meet is omitted: "at least 1".
  std::string text() const;

  /// Throws number_out_of_range unless `found` is in the range.
  template <class Number>
  void require(std::string_view where, Number found) const {
    if (!contains(static_cast<double>(found))) fail(errors::number_out_of_range(where, found, text()));
  }

  /// Appends number_out_of_range to `diagnostics` unless `found` is in the range.
  template <class Number>
  void add_unless_in(std::string_view where, Number found, std::vector<Diagnostic>& diagnostics) const {
    if (!contains(static_cast<double>(found))) diagnostics.push_back(errors::number_out_of_range(where, found, text()));
  }
  template <class Number>
  void add_unless_in(std::string_view where, const std::optional<Number>& found,
                     std::vector<Diagnostic>& diagnostics) const {
    if (found) add_unless_in(where, *found, diagnostics);
  }
  template <class Number>
  void add_unless_in(std::string_view where, const std::vector<Number>& found,
                     std::vector<Diagnostic>& diagnostics) const {
    for (const Number number : found) add_unless_in(where, number, diagnostics);
  }
};

/// Throws an Error with one number_out_of_range for each option out of its range.
template <class Options>
void require_in_range(const Options& options) {
  std::vector<Diagnostic> found;
  add_out_of_range(options, found);
  fail_on_any(std::move(found));
}

}  // namespace halfstep

// Defines the ranges of options.yaml, such as limits::kBatch.
#include "halfstep/core/base/ranges.h"
