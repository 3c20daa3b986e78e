// The error that ends a call, for comparison with an entry of the catalogue: EXPECT_EQ(diagnostic_of(call),
// errors::image_smaller_than_crop("photo.png", "20x20", 24)). No test quotes the words of a message.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/status.h"

namespace halfstep {

/// Prints a diagnostic when a comparison fails.
inline void PrintTo(const Diagnostic& one, std::ostream* out) {
  *out << (one.entry == nullptr ? "" : one.entry->name) << " \"" << one.where << "\" | \"" << one.problem << "\" | \""
       << one.found << "\" | \"" << one.expected << "\" | \"" << one.remedy << "\"";
}

}  // namespace halfstep

namespace halfstep::test {

/// All diagnostics of the Error that `run` throws. None when it throws none.
template <class F>
std::vector<Diagnostic> diagnostics_of(F run) {
  try {
    run();
  } catch (const Error& error) {
    return error.diagnostics();
  }
  return {};
}

/// The first diagnostic of the Error that `run` throws. Empty when it throws none.
template <class F>
Diagnostic diagnostic_of(F run) {
  const auto all = diagnostics_of(run);
  return all.empty() ? Diagnostic{} : all.front();
}

/// The entry's name of the first diagnostic: "image_smaller_than_crop". "" when `run` throws none.
template <class F>
std::string_view name_of(F run) {
  const ErrorEntry* entry = diagnostic_of(run).entry;
  return entry == nullptr ? "" : entry->name;
}

/// Message of the Error that `run` throws. "no error" when it throws none.
template <class F>
std::string error_of(F run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Kind of the Error that `run` throws. internal when it throws none.
template <class F>
ErrorKind kind_of(F run) {
  try {
    run();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;
}

}  // namespace halfstep::test
