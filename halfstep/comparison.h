// Tensors of files, and their comparison. Internal to the face.
#pragma once

#include <filesystem>
#include <string>

#include "halfstep/halfstep.h"

namespace halfstep {

/// npz by the name of the file, else safetensors.
Tensors read_tensors(const std::filesystem::path& path);
void write_tensors(const std::filesystem::path& path, const Tensors& tensors);

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
  bool exact = false;  ///< every bit
};

/// Elements that differ by more than the tolerance; NaN equals NaN. Both are of one type.
RunComparison compare(const std::string& name, const Tensor& found, const Tensor& expected, const Tolerance& tolerance);

}  // namespace halfstep
