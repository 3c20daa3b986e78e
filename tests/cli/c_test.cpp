// `halfstep export --format c` and `verify --backend c` on the command line.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

class CProgram : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
    workspace->expect(
        0, {"export", "quick/integer.safetensors", "--format", "c", "--name", "digits", "--hooks", "--out", "board"});
  }
  static void TearDownTestSuite() { delete workspace; }
  void SetUp() override {
    if (std::system("cc --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "there is no C compiler";
  }
  static nlohmann::json verify(int code, std::vector<std::string> more) {
    std::vector<std::string> words = {"verify", "quick", "--samples", "8", "--backend", "c", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return workspace->expect(code, words).json();
  }

  static inline Workspace* workspace = nullptr;
};

TEST_F(CProgram, says_what_it_takes) {
  const auto json =
      workspace
          ->expect(0, {"export", "quick/prepared.safetensors", "--format", "c", "--main", "--out", "main", "--json"})
          .json();
  EXPECT_EQ(json["files"].size(), 3U);
  EXPECT_EQ(json["samples"], 8);
  EXPECT_GT(json["weight_bytes"], 50000);
  EXPECT_GT(json["arena_bytes"], 2048);
  EXPECT_EQ(json["uses_floats"], false);
  workspace->expect(2, {"export", "quick/prepared.safetensors", "--format", "c", "--out", "main"});
  workspace->expect(0, {"export", "quick/prepared.safetensors", "--format", "c", "--out", "main", "--overwrite"});
}

TEST_F(CProgram, has_the_codes_and_shows_where_it_has_not) {
  const auto same = verify(0, {"--c-folder", "board"});
  for (const auto& layer : same["layers"]) EXPECT_EQ(layer["engine_differing"], 0);
  std::string text = test::read_text(*workspace / "board/digits.c");
  const size_t at = text.find("{\n    ", text.find("conv4_w[")) + 6;
  std::filesystem::create_directory(*workspace / "changed");
  test::write_text(*workspace / "changed/digits.h", test::read_text(*workspace / "board/digits.h"));
  test::write_text(*workspace / "changed/digits.c", text.insert(at, "0 * "));
  const bool has_arm = std::system(
                           "arm-linux-gnueabihf-gcc --version > /dev/null 2>&1 && qemu-arm --version > "
                           "/dev/null 2>&1") == 0;
  std::vector<std::string> machine;
  if (has_arm) machine = {"--compiler", "arm-linux-gnueabihf-gcc -static -O2", "--runner", "qemu-arm"};
  machine.insert(machine.end(), {"--c-folder", "changed"});
  bool before = true;
  const auto other = verify(1, machine);
  for (const auto& layer : other["layers"]) {
    before = before && layer["name"] != "conv4";
    EXPECT_TRUE(!before || layer["engine_differing"] == 0) << layer["name"];
    if (layer["name"] != "conv4") continue;
    EXPECT_GT(layer["engine_differing"], 0);
    EXPECT_EQ(layer["first_engine"]["position"][0], 0);  // the channel whose first weight was changed
  }
  EXPECT_FALSE(before);
}

}  // namespace
}  // namespace halfstep
