// Paddle models on the command line: run, inspected, refused.
#include <gtest/gtest.h>

#include "halfstep/core/files/npz.h"
#include "halfstep/core/files/safetensors.h"
#include "tests/cli/program.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

const std::filesystem::path kModels = std::filesystem::path(HALFSTEP_SOURCE_DIR) / "tests/formats/paddle";

TEST(Paddle, runs_on_named_tensors_as_paddle_does) {
  Workspace workspace;
  const auto stored = io::read_safetensors(kModels / "control.safetensors").tensors;
  io::write_npz(workspace / "x.npz", {{"x", stored.at("b3.in.x")}});
  io::write_npz(workspace / "y.npz", {{"out0", stored.at("b3.out.out0")}, {"out1", stored.at("b3.out.out1")}});
  for (const char* program : {"control.json", "control.pdmodel"})
    workspace.expect(0, {"run", (kModels / program).string(), "--inputs", "x.npz", "--expect", "y.npz", "--rtol",
                         "1e-5", "--atol", "1e-6"});
  const auto two = workspace.errors(2, {"run", (kModels / "control").string(), "--inputs", "x.npz"});
  for (const char* value : {"2", "control.pdmodel", "control.json"}) EXPECT_TRUE(test::mentions(two, value)) << value;
}

TEST(Paddle, is_inspected) {
  Workspace workspace;
  const auto qat = workspace.expect(0, {"inspect", (kModels / "qat.pdmodel").string(), "--json"}).json();
  EXPECT_EQ(qat["format"], "paddle");
  EXPECT_EQ(qat["producer"], "paddle 3.3.1");
  EXPECT_EQ(qat["inputs"][0]["type"], "float32[?, 1, 28, 28]");
  EXPECT_EQ(qat["operators"]["fake_quantize_dequantize_moving_average_abs_max"], 23);
  EXPECT_TRUE(qat["supported"]);
  for (const char* control : {"control.json", "control.pdmodel"}) {  // their regions are imported unchanged
    const auto inspected = workspace.expect(0, {"inspect", (kModels / control).string()});
    EXPECT_NE(inspected.out.find("every node is supported"), std::string::npos) << control;
  }
}

}  // namespace
}  // namespace halfstep
