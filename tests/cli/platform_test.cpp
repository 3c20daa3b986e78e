// Platform records on the command line: one is written, checked, shown and compared, and drives a quantization.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/api/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

constexpr int kDifference = 1, kBadInput = 2, kUnsupported = 3;

/// Replaces a part of the file's text.
void replace(const Workspace& workspace, const std::string& file, const std::string& from, const std::string& to) {
  std::string text = test::read_text(workspace / file);
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " in " << text;
  test::write_text(workspace / file, text.replace(at, from.size(), to));
}

TEST(PlatformCommand, new_records_do_what_they_come_from) {
  Workspace workspace;
  const auto list = workspace.expect(0, {"platform", "list", "--json"}).json()["platforms"];
  EXPECT_GE(list.size(), 7U);
  for (const auto& platform : list) {
    const std::string name = platform["name"], mine = "my_" + name;
    EXPECT_NE(platform["doc"], "");
    workspace.expect(0, {"platform", "new", mine, "--from", name});
    EXPECT_EQ(workspace.expect(0, {"platform", "check", mine + ".yaml"}).out, mine + ".yaml: no errors\n");
    EXPECT_EQ(workspace.expect(0, {"platform", "diff", name, mine + ".yaml"}).out,
              name + " and " + mine + ".yaml are equivalent\n");
    EXPECT_NE(workspace.expect(0, {"platform", "list"}).out.find(name), std::string::npos);
  }
}

TEST(PlatformCommand, earlier_keys_work_with_a_note) {
  Workspace workspace;
  workspace.expect(0, {"platform", "new", "mine", "--from", "generic_int8"});
  replace(workspace, "mine.yaml", "\nfirst_and_last:", "\nedges:");
  const auto shown = workspace.expect(0, {"platform", "show", "mine.yaml"});
  EXPECT_NE(shown.out.find("\nfirst_and_last:"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.err, "halfstep: note: platform 'mine': edges is now first_and_last (0.3 removes the old spelling)\n");
}

TEST(PlatformCommand, new_replaces_nothing_unasked) {
  Workspace workspace;
  workspace.expect(0, {"platform", "new", "mychip"});
  const std::string before = test::read_text(workspace / "mychip.yaml");
  EXPECT_NE(before.find("\nplatform: mychip\n"), std::string::npos) << before;
  for (const std::string name : {"mychip", "mychip.yaml"})
    EXPECT_EQ(workspace.error(kBadInput, {"platform", "new", name, "--from", "magik_t40"}),
              errors::file_not_replaced("mychip.yaml", "file"));
  EXPECT_EQ(test::read_text(workspace / "mychip.yaml"), before);
  workspace.expect(
      0, {"platform", "new", "mychip", "--from", "magik_t40", "--overwrite", "--overrides", "activations.rate=0.5"});
  const auto shown = workspace.expect(0, {"platform", "show", "mychip.yaml", "--json"}).json()["platform"];
  EXPECT_EQ(shown["channels"]["multiple"], 32);
  EXPECT_EQ(shown["activations"]["rate"], 0.5);
  workspace.expect(0, {"platform", "new", "second", "--from", "mychip.yaml"});
  workspace.expect(0, {"platform", "diff", "mychip.yaml", "second.yaml"});
}

TEST(PlatformCommand, new_takes_names_that_can_be_meant) {
  Workspace workspace;
  const auto error = [&](const std::string& name) { return workspace.error(kBadInput, {"platform", "new", name}); };
  for (const char* name : {"magik_t40", "Magik_T40"}) EXPECT_EQ(error(name), errors::platform_name_taken(name));
  EXPECT_EQ(error("my chip"), errors::platform_name_wrong("my chip"));
  EXPECT_TRUE(test::mentions({error("nowhere/chip")}, "nowhere/chip.yaml"));
  EXPECT_TRUE(test::listing(workspace.path()).empty());
}

TEST(PlatformCommand, check_says_every_mistake_on_its_line) {
  Workspace workspace;
  workspace.expect(0, {"platform", "new", "mychip"});
  replace(workspace, "mychip.yaml", "share_scales: [concat]", "share_scales: [conv2d]");
  replace(workspace, "mychip.yaml", "  weighted: [relu, relu6, leaky_relu]", "  weighted: [hard_swish]");
  replace(workspace, "mychip.yaml", "granularity:", "granularty:");
  replace(workspace, "mychip.yaml", "power_of_two: false", "power_of_two: false\npower_of_two: true");
  const auto found = workspace.expect(kBadInput, {"platform", "check", "mychip.yaml", "--json"}).json();
  EXPECT_FALSE(found["holds"]);
  const std::string text = test::read_text(workspace / "mychip.yaml");
  std::vector<std::string> where;
  for (const std::string key : {"granularty: ", "power_of_two: true", "share_scales: ", "weighted: [hard"}) {
    const auto at = text.begin() + static_cast<ptrdiff_t>(text.find(key));
    where.push_back("mychip.yaml:" + std::to_string(1 + std::count(text.begin(), at, '\n')));
  }
  where[0] += ": weights.granularty";
  where[1] += ": power_of_two";
  where[2] += ": share_scales";
  where[3] += ": fused_activations.weighted";
  std::vector<std::string> said;
  for (const auto& one : found["objections"]) said.push_back(one["where"]);
  EXPECT_EQ(said, where);
  EXPECT_EQ(found["objections"][2]["found"], "'conv2d'");
  const std::string lines = workspace.expect(kBadInput, {"platform", "check", "mychip.yaml"}).out;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4) << lines;
  EXPECT_NE(lines.find(where[0] + ": "), std::string::npos) << lines;
  EXPECT_NE(lines.find("'granularity'"), std::string::npos) << lines;
  workspace.expect(kBadInput, {"quantize", "none", "--platform", "mychip.yaml"});
}

TEST(PlatformCommand, check_names_what_is_no_record) {
  Workspace workspace;
  const auto found = [&](const std::string& text) {
    test::write_text(workspace / "chip.yaml", text);
    const auto said = workspace.expect(kBadInput, {"platform", "check", "chip.yaml", "--json"}).json();
    return said["objections"][0]["where"].get<std::string>();
  };
  EXPECT_EQ(found(""), "chip.yaml:1: record");
  EXPECT_EQ(found("weights:\n\tbits: 8\n"), "chip.yaml:2");
  EXPECT_EQ(found("weights: [8\n"), "chip.yaml:2: column 1");
  EXPECT_NE(workspace.expect(kBadInput, {"platform", "check", "none.yaml"}).out.find("none.yaml"), std::string::npos);
}

TEST(PlatformCommand, diff_shows_both_sides) {
  Workspace workspace;
  workspace.expect(0, {"platform", "new", "mychip", "--overrides", "activations.rate=0.5"});
  const auto outcome = workspace.expect(kDifference, {"platform", "diff", "generic_int8", "mychip.yaml"});
  EXPECT_EQ(outcome.out, "key               generic_int8  mychip.yaml\nactivations.rate          0.05          0.5\n");
  const auto json = workspace.expect(kDifference, {"platform", "diff", "generic_int8", "mychip.yaml", "--json"}).json();
  EXPECT_EQ(json["differences"].size(), 1U);
  EXPECT_EQ(json["differences"][0]["second"], "0.5");
}

TEST(PlatformCommand, show_resolves_and_reads_back) {
  Workspace workspace;
  const auto shown = workspace.expect(0, {"platform", "show", "magik_t40", "--overrides", "activations.rate=0.5"}).out;
  test::write_text(workspace / "shown.yaml", shown);
  EXPECT_EQ(workspace.expect(0, {"platform", "show", "shown.yaml"}).out, shown);
  EXPECT_NE(shown.find("  codes: unsigned\n"), std::string::npos) << shown;
  EXPECT_NE(shown.find("  rate: 0.5\n"), std::string::npos) << shown;
}

TEST(PlatformCommand, wrong_use_is_named) {
  Workspace workspace;
  const auto error = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "platform");
    return workspace.error(kBadInput, words);
  };
  EXPECT_EQ(error({"chck"}), errors::not_a_choice("platform: mode", "chck",
                                                  "new, check, show, diff, list, keys, did you mean 'check'?"));
  EXPECT_EQ(error({"diff", "magik_t40"}), errors::number_of_arguments("platform", "diff", 1, "PLATFORM PLATFORM"));
  EXPECT_EQ(error({"list", "all"}), errors::number_of_arguments("platform", "list", 1, "none"));
  EXPECT_TRUE(test::mentions({error({"show", "magik_40"})}, "'magik_t40'"));
}

/// A chip's own rules reach inspect, which names each missing function with its reason and place.
TEST(PlatformCommand, rules_of_a_record_reach_the_verbs) {
  Workspace workspace;
  test::write_text(workspace / "net.ir", R"(graph net(x: f32[?, 1, 8, 8]) {
  param @a: f32[16, 1, 3, 3]
  param @d: f32[16, 1, 3, 3]
  param @h: f32[10, 16]
  first = conv2d(x, w=@a) {pad: [1, 1, 1, 1]}
  gate = sigmoid(first)
  deep = conv2d(gate, w=@d) {pad: [1, 1, 1, 1], groups: 16}
  mean = global_avg_pool(deep)
  flat = flatten(mean)
  head = linear(flat, w=@h)
  return head
}
)");
  workspace.expect(0, {"platform", "new", "mychip", "--from", "signed_pow2_int8"});
  replace(workspace, "mychip.yaml", "legal: []",
          "legal:\n  - {op: conv2d, where: depthwise, weights: [8], reason: the depthwise unit has 8-bit weights}\n"
          "  - {op: sigmoid, refused: true, reason: the chip has no tables}");
  const auto inspect = [&](const std::string& bits) {
    return workspace.expect(kUnsupported, {"inspect", "net.ir", "--platform", "mychip.yaml", "--weight-bits", bits})
        .out;
  };
  const std::string at_four = inspect("4"), at_eight = inspect("8");
  const std::string depthwise =
      "weights on mychip: found 4 bits, expected 8 (the depthwise unit has 8-bit weights)\n    at: net.ir:7: node "
      "'deep'\n";
  EXPECT_NE(at_four.find(depthwise), std::string::npos) << at_four;
  EXPECT_EQ(at_eight.find("weights on mychip"), std::string::npos) << at_eight;
  for (const std::string& text : {at_four, at_eight})
    EXPECT_NE(text.find("mychip does not support sigmoid: the chip has no tables\n    at: net.ir:6: node 'gate'\n"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace halfstep
