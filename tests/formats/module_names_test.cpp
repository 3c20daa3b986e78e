// Names of layers, from the metadata that PyTorch's exporter writes beside its nodes.
#include "halfstep/formats/onnx/module_names.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/given_names.h"

namespace halfstep::formats::onnx {
namespace {

using Names = std::vector<std::string>;

proto::Node node_of(const std::string& scopes, const Names& inputs = {}) {
  proto::Node node;
  for (const std::string& input : inputs) node.add_input(input);
  proto::Entry& entry = *node.add_metadata_props();
  entry.set_key("namespace");
  entry.set_value(scopes);
  return node;
}

const std::string kBlock = ": nets.ResNet/layers: torch.nn.modules.container.Sequential/layers.0: nets.Block";

TEST(ModuleNames, layers_are_called_after_the_owner_of_their_weight) {
  const std::string folded = kBlock + "/layers.0.bn1: torch.nn.modules.batchnorm.BatchNorm2d/bn_3: aten.bn.default";
  EXPECT_EQ(module_names(node_of(folded, {"x", "layers.0.conv1.weight", "layers.0.conv1.weight_bias"})),
            (Names{"layers.0.conv1", "layers.0.bn1", "layers.0.bn1.bn"}));
}

TEST(ModuleNames, modules_without_weights_as_themselves) {
  EXPECT_EQ(
      module_names(node_of(kBlock + "/layers.0.relu: torch.nn.modules.activation.ReLU/relu_12: aten.relu.default")),
      (Names{"layers.0.relu", "layers.0.relu.relu"}));
}

TEST(ModuleNames, what_a_module_computes_itself_after_both) {
  EXPECT_EQ(module_names(node_of(kBlock + "/add_3: aten.add.Tensor")), Names{"layers.0.add"});
  EXPECT_EQ(module_names(node_of(": nets.Net/mean: aten.mean.dim")), Names{"mean"});
}

TEST(ModuleNames, nothing_of_other_texts) {
  for (const char* text : {"", "conv", "a: b", "a: b/c", "a: b\n/c: d", "a: b/\xC3\x28: d"})
    EXPECT_TRUE(module_names(node_of(text)).empty()) << text;
  EXPECT_TRUE(module_names({}).empty());
}

Location line_of(const std::string& trace) {
  proto::Node node;
  proto::Entry& entry = *node.add_metadata_props();
  entry.set_key("pkg.torch.onnx.stack_trace");
  entry.set_value(trace);
  return source_line(node);
}

TEST(SourceLine, is_the_innermost_of_the_users_program) {
  const std::string own = "File \"/project/net.py\", line 8, in forward\n    y = self.block(x)\n",
                    inner = "  File \"/project/blocks.py\", line 21, in forward\n    return self.bn(x)\n",
                    torch =
                        "  File \"/venv/lib/python3.11/site-packages/torch/nn/modules/batchnorm.py\", line 210, in f";
  EXPECT_EQ(to_string(line_of(own + inner + torch)), "blocks.py:21");
  EXPECT_EQ(to_string(line_of(own + torch)), "net.py:8");
  EXPECT_EQ(to_string(line_of("File \"C:\\me\\net.py\", line 3, in forward")), "net.py:3");
}

TEST(SourceLine, is_unknown_where_nothing_says_it) {
  for (const char* trace : {"", "File \"net.py", "File \"net.py\", line x", "File \"net.py\", line -3",
                            "File \"net.py\", line 99999999999", "File \"n\net.py\", line 3"})
    EXPECT_EQ(line_of(trace).line, 0) << trace;
}

TEST(GivenNames, are_those_that_differ_and_follow_their_layers) {
  GivenNames names;
  add_given_name(names, "layers.0.conv1", "getitem_3");
  add_given_name(names, "layers.0.conv1", "getitem_4");
  add_given_name(names, "same", "same");
  EXPECT_EQ(names, (GivenNames{{"layers.0.conv1", "getitem_3"}}));
  rename_layers(names, {{"layers.0.conv1", "layers.0_conv1"}, {"other", "another"}});
  EXPECT_EQ(names, (GivenNames{{"layers.0_conv1", "getitem_3"}}));
}

}  // namespace
}  // namespace halfstep::formats::onnx
