// `halfstep dump` and `halfstep compare`: the contents of dumps, the errors for wrong files, and no half-written files.
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/api/errors.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/verify/board/layout.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using nlohmann::json;
using test::Workspace;

/// The folder quick, and the dump `ours` of its integer program on two samples.
class Board : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
    dump("ours", {"--layout", "nchw"});
  }
  static void TearDownTestSuite() { delete workspace; }

  static json dump(const std::string& out, std::vector<std::string> more, const std::string& form = "integer") {
    more.insert(more.begin(), {"dump", "quick/" + form + ".safetensors", "--samples", "2", "--out", out, "--json"});
    return workspace->expect(0, more).json();
  }
  static json entry_of(const json& manifest, const std::string& name) {
    const auto found = std::ranges::find_if(manifest["values"], [&](const json& one) { return one["name"] == name; });
    return found == manifest["values"].end() ? json() : *found;
  }
  static json manifest_of(const std::string& folder) {
    return json::parse(test::read_text(*workspace / (folder + "/manifest.json")));
  }
  /// Copies `ours` to another name.
  static void copy(const std::string& to) {
    std::filesystem::remove_all(*workspace / to);
    std::filesystem::copy(*workspace / "ours", *workspace / to);
  }
  static std::string file_of(const std::string& folder, const std::string& value) {
    return folder + "/" + entry_of(manifest_of(folder), value)["file"].get<std::string>();
  }
  static std::string contents(const std::string& file) { return test::read_text(*workspace / file); }
  static void write(const std::string& file, const std::string& text) { test::write_text(*workspace / file, text); }
  static json compare(int code, const std::string& a, const std::string& b, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"compare", a, b, "--json"});
    return workspace->expect(code, more).json();
  }
  /// Expects an error of another room that names these values.
  static void expect_values(const std::vector<std::string>& arguments, const std::vector<std::string>& values) {
    const auto found = workspace->errors(2, arguments);
    for (const std::string& value : values) EXPECT_TRUE(test::mentions(found, value)) << value;
  }

  static inline Workspace* workspace = nullptr;
};

TEST_F(Board, a_dump_is_the_same_for_the_same_samples) {
  dump("again", {"--layout", "nchw"});
  EXPECT_EQ(test::listing(*workspace / "again"), test::listing(*workspace / "ours"));
  EXPECT_TRUE(compare(0, "ours", "again")["equal"].get<bool>());
}

TEST_F(Board, the_manifest_says_what_each_file_is) {
  const json manifest = manifest_of("ours"), conv = entry_of(manifest, "conv4");
  EXPECT_EQ(manifest["network"], "digits");
  EXPECT_EQ(manifest["samples"], 2);
  EXPECT_EQ(conv["op"], "integer_conv2d");
  EXPECT_EQ(conv["shape"], json({2, 64, 4, 4}));
  EXPECT_EQ(conv["type"], "u8");
  EXPECT_GT(conv["scale"].get<double>(), 0);
  EXPECT_EQ(conv["bytes"], 2 * 64 * 4 * 4);
  EXPECT_EQ(conv["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(conv["md5"].get<std::string>().size(), 32U);
  for (const char* parameter : {"conv4.w", "conv4.b", "conv4.multiplier", "conv4.shift"})
    EXPECT_EQ(entry_of(manifest, parameter)["layer"], "conv4") << parameter;
  size_t place = 0;
  for (const auto& value : manifest["values"]) {
    if (value["name"] == "conv4") break;
    ++place;
  }
  EXPECT_EQ(manifest["values"][place - 1]["layer"], "conv4");  // parameters come before their layer
}

TEST_F(Board, paths_and_layouts_have_the_same_codes) {
  const std::vector<std::vector<std::string>> ways = {
      {"--layout", "ndhwc32"}, {"--offset"},        {"--border", "1,2,0,1"},
      {"--format", "npy"},     {"--format", "txt"}, {"--layout", "nhwc", "--offset", "--border", "0,1,0,1"}};
  for (size_t i = 0; i < ways.size(); ++i) {
    const std::string out = "way" + std::to_string(i);
    dump(out, ways[i]);
    EXPECT_TRUE(compare(0, "ours", out)["equal"].get<bool>()) << i;
  }
  dump("training", {"--layout", "nchw"}, "prepared");
  const json report = compare(0, "ours", "training");
  EXPECT_EQ(report["values"].size(), manifest_of("ours")["values"].size());
  EXPECT_EQ(manifest_of("training")["path"], "training path");
}

TEST_F(Board, float_networks_and_float_values_are_dumped_too) {
  const json source = dump("source", {}, "float");
  EXPECT_EQ(entry_of(source, "conv4")["type"], "f32");
  const json floats = dump("floats", {"--floats"});
  EXPECT_EQ(entry_of(floats, "conv4")["type"], "f32");
  EXPECT_FALSE(entry_of(floats, "conv4").contains("zero_point"));
}

TEST_F(Board, only_the_layers_that_are_asked_for) {
  const json some = dump("some", {"--layers", "conv*,shortcut", "--no-parameters"});
  std::vector<std::string> names;
  for (const auto& value : some["values"]) names.push_back(value["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"conv1", "conv2", "conv3", "conv4", "conv5", "shortcut"}));
  EXPECT_EQ(workspace->error(2, {"dump", "quick/integer.safetensors", "--layers", "cnv4", "--out", "none"}),
            errors::no_layer_to_dump("cnv4", ", did you mean 'conv4'?"));
  EXPECT_FALSE(workspace->has("none"));
}

TEST_F(Board, the_platform_names_the_layout) {
  workspace->expect(
      0, {"quantize", "quick/float.safetensors", "--overrides",
          "dump={order: ndhwc32, border: {above: 1, below: 1, left: 1, right: 1}}", "--out", "chip.safetensors"});
  workspace->expect(0, {"convert", "chip.safetensors", "--out", "chip_integer.safetensors"});
  const json manifest =
      workspace->expect(0, {"dump", "chip_integer.safetensors", "--out", "chip_dump", "--json"}).json();
  const json conv = entry_of(manifest, "conv4");
  EXPECT_EQ(conv["layout"]["order"], "ndhwc32");
  EXPECT_EQ(conv["layout"]["border"], json({1, 1, 1, 1}));
  EXPECT_EQ(conv["bytes"], 2 * 6 * 6 * 32);
  const json own = workspace
                       ->expect(0, {"dump", "chip_integer.safetensors", "--layout", "nhwc", "--border", "0,0,0,0",
                                    "--out", "own_dump", "--json"})
                       .json();
  EXPECT_EQ(entry_of(own, "conv4")["bytes"], 64 * 4 * 4);
}

TEST_F(Board, a_difference_has_its_place_in_every_layout) {
  copy("board");
  const std::string file = file_of("board", "conv4");
  std::string bytes = contents(file);
  const size_t at = 64 * 16 + (37 * 4 + 2) * 4 + 3;  // element [1, 37, 2, 3]
  bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
  write(file, bytes);
  const json report = compare(1, "ours", "board");
  EXPECT_EQ(report["differs"], "conv4");
  const auto conv = std::ranges::find_if(report["values"], [](const json& one) { return one["name"] == "conv4"; });
  EXPECT_EQ((*conv)["differing"], 1);
  EXPECT_EQ((*conv)["first"]["position"], json({1, 37, 2, 3}));
  EXPECT_EQ((*conv)["first"]["index"]["NCHW"], at);
  EXPECT_EQ((*conv)["first"]["index"]["NHWC"], 64 * 16 + (2 * 4 + 3) * 64 + 37);
  EXPECT_EQ((*conv)["first"]["index"]["NDHWC32"], 64 * 16 + 512 + (2 * 4 + 3) * 32 + 5);
  EXPECT_NE(report["notes"][0].get<std::string>().find("do not match their SHA-256"), std::string::npos)
      << report["notes"];
}

TEST_F(Board, a_bare_file_and_a_folder_of_them_are_read_like_ours) {
  dump("nhwc", {"--layout", "nhwc"});
  std::filesystem::remove(*workspace / "nhwc/manifest.json");
  json report = compare(1, "ours", "nhwc");
  EXPECT_EQ(report["guesses"][0]["name"], "order") << report["guesses"];
  EXPECT_EQ(report["guesses"][0]["proof"], "exact");
  EXPECT_EQ(report["guesses"][0]["differing"], 0);
  report = compare(1, "ours", file_of("ours", "conv5"), {"--like", "conv4"});
  EXPECT_EQ(report["differs"], "conv4");
  const auto states = compare(1, "ours", file_of("ours", "conv4"), {"--like", "conv4"})["values"];
  for (const auto& value : states) EXPECT_EQ(value["state"], value["name"] == "conv4" ? "equal" : "missing");
}

TEST_F(Board, arrays_of_another_framework_are_matched_by_name_or_content) {
  const json conv = entry_of(manifest_of("ours"), "conv4");
  const std::string bytes = contents(file_of("ours", "conv4"));
  Tensor codes(DType::i32, {2, 64, 4, 4});
  for (size_t i = 0; i < bytes.size(); ++i) codes.data<int32_t>()[i] = static_cast<uint8_t>(bytes[i]);
  io::write_npz(*workspace / "named.npz", {{"conv4", codes}});
  io::write_npz(*workspace / "renamed.npz", {{"net/stage2/out", codes}});
  for (const auto& [file, called] : {std::pair{"named.npz", ""}, std::pair{"renamed.npz", "net/stage2/out"}}) {
    const json report = compare(1, "ours", file);
    const auto found = std::ranges::find_if(report["values"], [](const json& one) { return one["name"] == "conv4"; });
    EXPECT_EQ((*found)["state"], "equal") << file;
    EXPECT_EQ(found->value("second_name", ""), called);
  }
}

TEST_F(Board, a_model_is_a_side_too) {
  const json report = compare(0, "quick/integer.safetensors", "ours", {"--samples", "2"});
  EXPECT_TRUE(report["equal"].get<bool>());
}

TEST_F(Board, a_page_needs_nothing_else_and_escapes_names) {
  copy("board");
  write(file_of("board", "conv4"), std::string(2 * 64 * 16, '\1'));
  workspace->expect(1, {"compare", "ours", "board", "--html", "board.html"});
  const std::string page = contents("board.html");
  for (const char* part : {"<svg", "prefers-color-scheme: dark", "first difference: &#39;conv4&#39;", "</html>"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  for (const char* part : {"<script", "http:", "https:", " src="})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  EXPECT_EQ(workspace->error(2, {"compare", "ours", "board", "--html", "board.html"}),
            errors::file_not_replaced("board.html", "file"));
}

TEST_F(Board, all_that_is_wrong_with_a_folder_is_said_at_once) {
  copy("bad");
  std::filesystem::remove(*workspace / file_of("bad", "conv1"));
  write(file_of("bad", "conv2"), "");
  json manifest = manifest_of("bad");
  for (auto& value : manifest["values"]) {
    if (value["name"] == "conv3") value["bytes"] = 5;
  }
  write("bad/manifest.json", manifest.dump());
  expect_values({"compare", "ours", "bad"},
                {file_of("bad", "conv1"), file_of("bad", "conv2"), "'conv3'", "u8[2, 64, 8, 8]", "8192", "5"});
}

TEST_F(Board, a_cut_file_is_no_difference_of_codes) {
  copy("cut");
  const std::string file = file_of("cut", "conv4"), bytes = contents(file);
  write(file, bytes.substr(0, bytes.size() - 3));
  expect_values({"compare", "ours", "cut"}, {"dump_file_unfit", "'conv4'", "2045", "2048", "u8[2, 64, 4, 4]"});
}

TEST_F(Board, a_file_of_another_size_that_a_layout_explains_is_one) {
  dump("bordered", {"--layout", "nchw", "--border", "1,1,1,1"});
  copy("board");
  write(file_of("board", "conv4"), contents(file_of("bordered", "conv4")));
  const json report = compare(1, "ours", "board");
  EXPECT_EQ(report["guesses"][0]["name"], "border") << report["guesses"];
  EXPECT_EQ(report["guesses"][0]["differing"], 0);
}

TEST_F(Board, sides_that_are_nothing_are_refused) {
  EXPECT_EQ(workspace->error(2, {"compare", "ours", "nowhere"}), errors::no_such_side("nowhere"));
  std::filesystem::create_directory(*workspace / "void");
  expect_values({"compare", "ours", "void"}, {"dump_without_values", "void"});
  write("conv9.bin", "abc");
  EXPECT_EQ(workspace->error(2, {"compare", "ours", "conv9.bin"}), errors::bare_values("conv9.bin"));
  expect_values({"compare", "ours", "conv9.bin", "--like", "conv9"}, {"dump_value_unknown", "'conv9'", "ours"});
}

TEST_F(Board, a_dump_takes_the_place_of_a_dump_alone) {
  expect_values({"dump", "quick/integer.safetensors", "--out", "ours"}, {"dump_target_exists", "ours", "--overwrite"});
  const auto before = test::listing(*workspace / "quick");
  expect_values({"dump", "quick/integer.safetensors", "--out", "quick", "--overwrite"},
                {"dump_target_foreign", "quick"});
  EXPECT_EQ(test::listing(*workspace / "quick"), before);
  workspace->expect(0, {"dump", "quick/integer.safetensors", "--out", "once"});
  workspace->expect(0, {"dump", "quick/integer.safetensors", "--out", "once", "--overwrite", "--layers", "conv1"});
  for (const auto& file : std::filesystem::directory_iterator(workspace->path()))
    EXPECT_FALSE(file.path().filename().string().starts_with(".halfstep")) << file.path();
}

}  // namespace
}  // namespace halfstep
