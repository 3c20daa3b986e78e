// Quantizes a part of a network, selected by names or by markers in its file.
#include <gtest/gtest.h>

#include "tests/cli/program.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

TEST(Region, IsQuantizedConvertedAndVerifiedWithoutLeave) {
  Workspace workspace;
  workspace.expect(0, {"train", "--epochs", "2", "--out", "run"});
  const std::vector<std::string> prefix = {"quantize", "run/model.safetensors", "--platform", "magik_t40"};
  const auto quantize = [&](const std::string& region, const std::string& out) {
    std::vector<std::string> command = prefix;
    command.insert(command.end(), {"--regions", region, "--out", out});
    return command;
  };
  const auto done = workspace.expect(0, quantize("pool:shortcut", "p"));
  EXPECT_NE(done.out.find("outside of the quantized region"), std::string::npos) << done.out;
  EXPECT_EQ(done.out.find("--float-fallback"), std::string::npos) << done.out;
  workspace.expect(0, {"convert", "p", "--out", "i"});
  EXPECT_NE(workspace.expect(0, {"verify", "p", "i"}).out.find("the integer program equals the prepared model (0 of"),
            std::string::npos);
  workspace.expect(0, {"train", "p", "--epochs", "1", "--out", "tuned"});
  workspace.expect(0, {"convert", "tuned/model.safetensors", "--out", "j"});
  workspace.expect(0, {"verify", "tuned/model.safetensors", "j"});
  workspace.expect(0, {"export", "i", "--format", "qdq", "--approximate", "--out", "i.onnx"});

  EXPECT_TRUE(test::mentions(workspace.errors(2, quantize("shortcut:pool", "never")), "crossed-markers"));
  const auto unknown = workspace.errors(2, quantize("conv2:shortcuts", "never"));
  for (const char* value : {"'conv2:shortcuts'", "'shortcuts'"}) EXPECT_TRUE(test::mentions(unknown, value)) << value;
  EXPECT_FALSE(workspace.has("never"));
}

TEST(Region, IsBoundByMarkersOfATextToo) {
  Workspace workspace;
  const std::string head = "graph g(x: f32[?, 1, 8, 8]) {\n  param @w: f32[4, 1, 3, 3]\n  param @v: f32[10, 64]\n";
  const std::string body = "  i = input_nop(x)\n  c = conv2d(i, w=@w)\n  r = relu(c)\n";
  test::write_text(workspace / "fine.ir", head + body + "  o = output_nop(r)\n  f = flatten(o)\n  return f\n}\n");
  test::write_text(workspace / "wrong.ir",
                   head + body + "  f = flatten(r)\n  o = output_nop(f) {outputs: 2}\n  return o\n}\n");
  const auto inspect = [](const std::string& file) {
    return std::vector<std::string>{"inspect", file, "--platform", "generic_int8"};
  };
  const auto fine = workspace.run(inspect("fine.ir"));
  EXPECT_NE(fine.out.find("outside of the quantized region"), std::string::npos) << fine.out << fine.err;
  const auto wrong = workspace.expect(3, inspect("wrong.ir"));
  for (const char* part :
       {"rule output-count", "rule output-behind-layer: flatten 'f' is between OutputNOp", "wrong.ir:8: node 'o'"})
    EXPECT_NE(wrong.out.find(part), std::string::npos) << wrong.out;
}

}  // namespace
}  // namespace halfstep
