// onnxruntime as a backend for verification. Internal to the verbs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::api {

struct OnnxruntimeOptions {
  /// Existing ONNX export of the integer program to use instead of a new one.
  std::optional<std::filesystem::path> exported = {};
  /// Also runs other ONNX forms and graph optimizations, as variants.
  bool variants = false;
  /// Python interpreter, see Settings.
  std::string python = "python3";
};

/// Runs the current `paths.integer` in a Python process that lives as long as the paths. Throws unsupported if Python
/// or onnxruntime is missing, if the arithmetic of the installed version was not measured, or if the processor lacks an
/// instruction set that this arithmetic needs.
void add_onnxruntime(verify::ExecutionPaths& paths, const OnnxruntimeOptions& options);

}  // namespace halfstep::api
