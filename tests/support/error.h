// What went wrong, as text.
#pragma once

#include <string>

#include "halfstep/core/base/status.h"

namespace halfstep::test {

/// Message of the Error that `run` throws; "no error" when it throws none.
template <class F>
std::string error_of(F run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Kind of the Error that `run` throws; internal when it throws none.
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
