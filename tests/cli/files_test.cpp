// File handling of the program: it leaves other files alone, and writes all of its own or none.
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "halfstep/api/errors.h"
#include "halfstep/quant/platform/platform.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;
using test::Workspace;

/// A float and a prepared network of one layer, and their data.
class Files : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    test::write_text(*workspace / "good.csv", test::small_csv());
    test::write_text(*workspace / "tiny.ir", test::linear_network("tiny"));
    workspace->expect(0, train("float"));
    workspace->expect(0, {"quantize", "float/model.safetensors", "--calibrate", "good.csv", "--out", "prepared"});
  }
  static void TearDownTestSuite() { delete workspace; }

  static std::vector<std::string> train(const std::string& out) {
    return {"train", "--data", "good.csv", "--network", "tiny.ir", "--epochs", "1", "--out", out};
  }
  static void expect_error(const Diagnostic& expected, const std::vector<std::string>& arguments) {
    EXPECT_EQ(workspace->error(2, arguments), expected);
  }
  /// Expects an error of another room that names these values.
  static void expect_values(const std::vector<std::string>& values, const std::vector<std::string>& arguments) {
    const auto found = workspace->errors(2, arguments);
    for (const std::string& value : values) EXPECT_TRUE(test::mentions(found, value)) << value;
  }

  static inline Workspace* workspace = nullptr;
};

/// The check comes before any work: the input files do not even exist.
TEST_F(Files, targets_that_are_no_files_are_refused_first) {
  ASSERT_EQ(::mkfifo((*workspace / "pipe").c_str(), 0600), 0);
  fs::create_directory(*workspace / "folder");
  fs::create_symlink("/dev/null", *workspace / "null");
  const std::map<std::string, std::string> kinds = {{"pipe", "a pipe"}, {"folder", "a folder"}, {"null", "a device"}};
  for (const auto& [name, kind] : kinds) {
    const std::vector<std::string> values = {name, kind};
    expect_values(values, {"quantize", "none", "--out", name});
    expect_values(values, {"convert", "none", "--out", name});
    expect_values(values, {"export", "none", "--out", name});
    expect_values(values, {"run", "none", "--inputs", "none.npz", "--outputs", name});
    if (name == "folder") continue;
    expect_values(values, {"train", "--data", "none.csv", "--out", name});
    expect_values(values, {"quickstart", "--data", "none.csv", "--out", name});
  }
  EXPECT_TRUE(fs::is_fifo(*workspace / "pipe"));
  EXPECT_TRUE(fs::is_symlink(*workspace / "null"));
  fs::remove(*workspace / "pipe");
}

TEST_F(Files, of_others_in_a_folder_of_results_stay) {
  for (const std::string out : {"mine", "quick"}) {
    fs::create_directory(*workspace / out);
    for (const char* name : {"notes.tmp", "writable", "victim"}) test::write_text(*workspace / out / name, "mine");
    for (const char* name : {"model.safetensors.tmp", "float.safetensors.tmp"})
      fs::create_symlink("victim", *workspace / out / name);
  }
  workspace->expect(0, train("mine"));
  test::quick_start(*workspace, {"--data", "good.csv"}, "quick");
  for (const std::string out : {"mine", "quick"}) {
    for (const char* name : {"notes.tmp", "writable", "victim"})
      EXPECT_TRUE(test::read_text(*workspace / out / name) == "mine") << out << "/" << name;
    EXPECT_TRUE(fs::is_symlink(*workspace / out / "model.safetensors.tmp"));
    for (const auto& [name, contents] : test::listing(*workspace / out)) EXPECT_FALSE(name.starts_with(".")) << name;
  }
}

TEST_F(Files, a_link_is_replaced_and_what_it_leads_to_stays) {
  test::write_text(*workspace / "victim", "mine");
  fs::create_symlink("victim", *workspace / "link");
  workspace->expect(0, {"convert", "prepared", "--out", "link", "--overwrite"});
  EXPECT_FALSE(fs::is_symlink(*workspace / "link"));
  EXPECT_TRUE(test::read_text(*workspace / "victim") == "mine");
}

/// The existing file may hold hours of work.
TEST_F(Files, nothing_is_replaced_unasked) {
  test::write_text(*workspace / "mine.npz", "mine");
  fs::create_directory(*workspace / "earlier");
  test::write_text(*workspace / "earlier/prepared.safetensors", "mine");
  const Diagnostic is_there = errors::file_not_replaced("mine.npz", "file");
  expect_error(is_there, {"quantize", "float/model.safetensors", "--out", "mine.npz"});
  expect_error(is_there, {"convert", "prepared", "--out", "mine.npz"});
  expect_error(is_there, {"export", "prepared", "--out", "mine.npz"});
  expect_error(is_there, {"run", "prepared", "--inputs", "none.npz", "--outputs", "mine.npz"});
  expect_error(is_there, {"data", "good.csv", "--sheet", "mine.npz"});
  expect_error(errors::file_not_replaced("earlier/prepared.safetensors", "folder"),
               {"quickstart", "--data", "none.csv", "--out", "earlier"});
  workspace->expect(0, {"convert", "prepared", "--out", "mine.npz", "--overwrite"});
}

TEST_F(Files, of_two_writers_one_wins) {
  workspace->expect(0, {"convert", "prepared", "--out", "alone"});
  const std::string prepared = (*workspace / "prepared").string(), shared = (*workspace / "shared/it").string();
  fs::create_directory(*workspace / "shared");
  for (int round = 0; round < 5; ++round) {
    std::vector<std::jthread> writers;
    for (int i = 0; i < 2; ++i) {
      writers.emplace_back([&] {
        Workspace own;
        own.expect(0, {"convert", prepared, "--out", shared, "--overwrite"});
      });
    }
  }
  const test::Listing one = {{"it", test::read_text(*workspace / "alone")}};
  EXPECT_TRUE(test::listing(*workspace / "shared") == one);
}

TEST_F(Files, pipes_and_links_in_place_of_inputs_are_named) {
  for (const char* name : {"p.csv", "p.npz", "p.yaml", "p.ir", "p.safetensors"})
    ASSERT_EQ(::mkfifo((*workspace / name).c_str(), 0600), 0);
  fs::create_symlink("circle", *workspace / "circle");
  fs::create_directories(*workspace / "images/a");
  fs::create_symlink("loop.png", *workspace / "images/a/loop.png");
  expect_values({"not_a_file", "p.csv", "a pipe"}, {"eval", "--model", "prepared", "--data", "p.csv"});
  expect_values({"not_a_file", "p.npz", "a pipe"}, {"run", "prepared", "--inputs", "p.npz"});
  expect_values({"not_a_file", "p.safetensors", "a pipe"}, {"convert", "p.safetensors", "--out", "new"});
  expect_values({"cannot_be_read", "circle"}, {"inspect", "circle"});
  expect_values({"network_file_unreadable", "p.ir"},
                {"train", "--data", "good.csv", "--network", "p.ir", "--out", "new"});
  expect_values({"folder_with_others", "images", "a/loop.png"}, {"eval", "--model", "prepared", "--data", "images"});
  expect_values({"p.yaml", fmt::format("{}", fmt::join(quant::platform_names(), ", "))},
                {"quickstart", "--platform", "p.yaml", "--out", "new"});
  for (const char* name : {"p.csv", "p.npz", "p.yaml", "p.ir", "p.safetensors"}) fs::remove(*workspace / name);
}

}  // namespace
}  // namespace halfstep
