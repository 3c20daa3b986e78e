// Result of one check.
#pragma once

#include <string>

namespace halfstep::verify {

struct Outcome {
  enum class Kind { passed, failed, skipped } kind = Kind::passed;
  std::string text = {};  ///< the failure, or the reason to skip
};

inline Outcome passed() { return {}; }
inline Outcome failed(std::string what) { return {Outcome::Kind::failed, std::move(what)}; }
inline Outcome skipped(std::string why) { return {Outcome::Kind::skipped, std::move(why)}; }

}  // namespace halfstep::verify
