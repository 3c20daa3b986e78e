// onnxruntime as a third road of the proof. Internal to the face.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "halfstep/base/tensor.h"
#include "halfstep/ir/model.h"

namespace halfstep {

/// An integer program as an ONNX file that Python runs. Files lie in a temporary folder as long as this lives.
class OnnxruntimeRoad {
 public:
  /// `layers` are values of the program. Throws unsupported where Python or onnxruntime is not there, has a version
  /// whose arithmetic nobody measured, or the processor lacks what that arithmetic needs.
  OnnxruntimeRoad(const Model& integer, std::vector<std::string> layers);
  ~OnnxruntimeRoad();
  OnnxruntimeRoad(const OnnxruntimeRoad&) = delete;
  OnnxruntimeRoad& operator=(const OnnxruntimeRoad&) = delete;

  /// The layers' codes for a batch.
  Tensors run(const Tensors& inputs) const;

 private:
  std::string python(const std::vector<std::string>& arguments) const;

  std::vector<std::string> layers_;
  size_t network_outputs_;
  std::filesystem::path folder_;
};

}  // namespace halfstep
