// Test inputs and expected outputs in ONNX's layout: FOLDER/test_data_set_K/{input,output}_N.pb.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/run.h"

namespace halfstep::api {

/// Inputs and expected outputs of one folder test_data_set_K.
struct TestSet {
  std::string name;  ///< "test_data_set_0"
  Tensors inputs, outputs;
};

/// Reads all sets in `folder`. Files map to the inputs and outputs of the network by position.
std::vector<TestSet> read_test_data(const std::filesystem::path& folder, const formats::Summary& network);

/// Reads tolerance.json in the folder ({"rtol": 1e-3, "atol": 1e-7}). Missing keys take values from `otherwise`.
Tolerance read_tolerance(const std::filesystem::path& folder, const Tolerance& otherwise);

}  // namespace halfstep::api
