// The numbers that options take: one range for the command line, a configuration file, Python and C++.
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
  bool above = false, below = false;  ///< `least`, and `most`, are not among them

  /// False for NaN and infinities.
  bool contains(double number) const;
  /// "1 to 1024", "at least 1" without a limit that people meet, "at least 0 and below 1", "above 0 and at most 100".
  std::string text() const;

  /// Throws number_out_of_range for a number that is not one of them.
  template <class Number>
  void require(std::string_view where, Number found) const {
    if (!contains(static_cast<double>(found))) fail(errors::number_out_of_range(where, found, text()));
  }

  /// Adds number_out_of_range for a number that is not one of them.
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

/// Throws number_out_of_range for each number of the options that is out of its range.
template <class Options>
void require_in_range(const Options& options) {
  std::vector<Diagnostic> found;
  add_out_of_range(options, found);
  fail_on_any(std::move(found));
}

}  // namespace halfstep

// The ranges of options.yaml, as limits::kBatch.
#include "halfstep/core/base/ranges.h"
