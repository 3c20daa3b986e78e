// onnxruntime as a third road of the proof. Internal to the verbs.
#pragma once

#include <filesystem>
#include <string>

#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

struct OnnxruntimeOptions {
  /// A file that the integer program was exported to, instead of a new one; "" for none.
  std::filesystem::path exported = {};
  /// Other forms and graph optimizations too, as variants.
  bool variants = false;
  /// See Settings.
  std::string python = "python3";
};

/// Runs `roads.integer`, as it is now, in a Python process that lives as long as the roads. Throws unsupported where
/// Python or onnxruntime is not there, has a version whose arithmetic nobody measured, or the processor lacks what that
/// arithmetic needs.
void add_onnxruntime(verify::Roads& roads, const OnnxruntimeOptions& options);

}  // namespace halfstep::api
