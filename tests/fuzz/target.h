// A libFuzzer target: any bytes result in a value or in an Error that is not "this is a bug".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "halfstep/core/base/status.h"

namespace halfstep::fuzz {

using Target = void(std::span<const std::byte> bytes);

inline int run(Target target, const uint8_t* data, size_t size) {
  try {
    target(std::as_bytes(std::span(data, size)));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) std::abort();
  }
  return 0;
}

}  // namespace halfstep::fuzz

/// Defines the function body that runs on `bytes`.
#define HS_FUZZ_TARGET(bytes)                                               \
  static void run_target(std::span<const std::byte> bytes);                 \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    return halfstep::fuzz::run(run_target, data, size);                     \
  }                                                                         \
  static void run_target(std::span<const std::byte> bytes)
