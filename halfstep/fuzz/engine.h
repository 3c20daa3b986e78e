// onnxruntime as a witness, where it is installed.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/child_process.h"

namespace halfstep::fuzz {

/// A Python process that runs ONNX files; it is started again where one of them ends it.
class Engine {
 public:
  /// `interpreter`: a Python, looked for in PATH; `folder` is there and takes the files of both.
  Engine(std::string interpreter, std::filesystem::path folder);

  /// Its version; nothing where it is not there, for which `reason` then has a word.
  const std::optional<std::string>& version() const { return version_; }
  const std::string& reason() const { return reason_; }

  struct Answer {
    Tensors outputs;      ///< "0", "1", ... in order
    std::string refusal;  ///< why it did not run them; "" where it did
  };
  /// Runs the file without graph optimizations.
  Answer run(const std::string& bytes, const Tensors& inputs);
  /// A new process: some of its kernels read memory that nobody wrote, and old memory holds other numbers than new.
  void start();

 private:
  std::string interpreter_;
  std::filesystem::path folder_;
  std::unique_ptr<io::ChildProcess> python_;
  std::optional<std::string> version_;
  std::string reason_;
};

}  // namespace halfstep::fuzz
