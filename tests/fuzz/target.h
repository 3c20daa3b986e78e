// A libFuzzer target: any bytes result in a value or in an Error that is not "this is a bug".
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string>

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

/// All targets of a program with HALFSTEP_REPLAY, by name.
inline std::map<std::string, Target*>& targets() {
  static std::map<std::string, Target*> all;
  return all;
}

inline std::string stem(const char* file) { return std::filesystem::path(file).stem().string(); }

}  // namespace halfstep::fuzz

/// Defines the function body that runs on `bytes`. With HALFSTEP_REPLAY it joins fuzz::targets() under the name of its
/// source, otherwise it is the entry of libFuzzer.
#ifdef HALFSTEP_REPLAY
#define HS_FUZZ_TARGET(bytes)                                                               \
  static void run_target(std::span<const std::byte> bytes);                                 \
  [[maybe_unused]] static const bool joined =                                               \
      halfstep::fuzz::targets().emplace(halfstep::fuzz::stem(__FILE__), run_target).second; \
  static void run_target(std::span<const std::byte> bytes)
#else
#define HS_FUZZ_TARGET(bytes)                                               \
  static void run_target(std::span<const std::byte> bytes);                 \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    return halfstep::fuzz::run(run_target, data, size);                     \
  }                                                                         \
  static void run_target(std::span<const std::byte> bytes)
#endif
