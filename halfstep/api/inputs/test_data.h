// Inputs and expected outputs in ONNX's layout: FOLDER/test_data_set_K/{input,output}_N.pb.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/run.h"

namespace halfstep::api {

struct TestSet {
  std::string name;  ///< "test_data_set_0"
  Tensors inputs, outputs;
};

/// All sets in `folder`, for the inputs and outputs of a network by their positions.
std::vector<TestSet> read_test_data(const std::filesystem::path& folder, const formats::Summary& network);

/// The folder's tolerance.json ({"rtol": 1e-3, "atol": 1e-7}), with `otherwise` for what it does not say.
Tolerance read_tolerance(const std::filesystem::path& folder, const Tolerance& otherwise);

}  // namespace halfstep::api
