// onnxruntime as an independent reference, if it is installed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/child_process.h"

namespace halfstep::fuzz {

/// A Python process that runs ONNX files. It is restarted if a file terminates it.
class Engine {
 public:
  /// `interpreter` is a Python found in PATH. `folder` must exist and takes the exchanged files.
  Engine(std::string interpreter, std::filesystem::path folder);

  /// Version of onnxruntime. nullopt if it is not available, with the cause in `reason`.
  const std::optional<std::string>& version() const { return version_; }
  const std::string& reason() const { return reason_; }

  struct Answer {
    Tensors outputs;      ///< named "0", "1", ... in order
    std::string refusal;  ///< reason of a refusal, "" on success
  };
  /// Runs the file without graph optimizations.
  Answer run(const std::string& bytes, const Tensors& inputs);
  /// Starts a new process. Some kernels of onnxruntime read uninitialized memory, whose contents differ in a new
  /// process.
  void start();

 private:
  std::string interpreter_;
  std::filesystem::path folder_;
  std::unique_ptr<io::ChildProcess> python_;
  std::optional<std::string> version_;
  std::string reason_;
};

}  // namespace halfstep::fuzz
