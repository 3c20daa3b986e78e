// `halfstep op golden`: the committed part of the golden files (tests/golden), all of them where they are available,
// and bad ones.
#include <gtest/gtest.h>

#include <filesystem>

#include "halfstep/api/errors.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

/// Expects agreement except for the listed deliberate differences.
void expect_agreement(const std::filesystem::path& file) {
  Workspace workspace;
  const auto report = workspace.expect(0, {"op", "golden", file.string(), "--json"}).json();
  int64_t cases = 0, elements = 0;
  for (const auto& row : report["operators"]) {
    EXPECT_EQ(row["differing_bits"], 0) << row;
    EXPECT_EQ(row["failed"], 0) << row;
    cases += row["cases"].get<int64_t>();
    elements += row["elements"].get<int64_t>();
  }
  EXPECT_GT(cases, 100);
  EXPECT_GT(elements, 1000);
}

void expect_part_and_whole(const std::string& name) {
  expect_agreement(std::filesystem::path(HALFSTEP_SOURCE_DIR) / "tests/golden" / name);
  const auto whole = std::filesystem::path(HALFSTEP_TEST_DATA) / "golden" / name;
  if (!std::filesystem::exists(whole)) GTEST_SKIP() << "no golden files in " HALFSTEP_TEST_DATA;
  expect_agreement(whole);
}

// A8.1, A8.2, A8.4, A8.5, A8.6, A8.7, A8.8, A8.9, A8.10
TEST(Golden, paddle) { expect_part_and_whole("paddle.json"); }
// A10.1, A10.2, A10.4, A10.6, A10.7, A10.8, A10.10
TEST(Golden, torch) { expect_part_and_whole("torch.json"); }
// A9.1, A9.2, A9.3, A9.4, A9.5, A9.6, A9.7, A9.9
TEST(Golden, onnx) { expect_part_and_whole("onnx.json"); }

class BadGolden : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = std::filesystem::path(HALFSTEP_SOURCE_DIR) / "tests/golden";
    json_ = test::read_text(folder / "paddle.json");
    test::write_text(workspace_ / "a.safetensors", test::read_text(folder / "paddle.safetensors"));
  }
  /// Expects an error that names these values.
  void expect_values(const std::string& json, const std::vector<std::string>& values) {
    test::write_text(workspace_ / "a.json", json);
    const auto found = workspace_.errors(2, {"op", "golden", "a.json"});
    for (const std::string& value : values) EXPECT_TRUE(test::mentions(found, value)) << value;
  }
  static std::string one_case(const std::string& op, const std::string& tensor) {
    return R"([{"id": "one", "op": ")" + op + R"(", "attr": {}, "in": {"x": ")" + tensor + R"("}, "out": {}}])";
  }

  Workspace workspace_;
  std::string json_;
};

TEST_F(BadGolden, truncated) {
  for (size_t size = 0; size < json_.size() - 2; size += 1024) {
    expect_values(json_.substr(0, size), {"golden_file_unreadable", "a.json"});
  }
}

TEST_F(BadGolden, truncated_tensors) {
  const std::string tensors = test::read_text(workspace_ / "a.safetensors");
  test::write_text(workspace_ / "a.safetensors", tensors.substr(0, tensors.size() / 2));
  expect_values(json_, {"a.safetensors"});
}

TEST_F(BadGolden, no_tensors) {
  std::filesystem::remove(workspace_ / "a.safetensors");
  expect_values(json_, {"a.safetensors"});
}

TEST_F(BadGolden, missing_tensor) {
  expect_values(one_case("fake_quantize_abs_max", "t9"),
                {"golden_value_unfit", "a.json", "'one'", "'x'", "'t9'", "a.safetensors"});
}

TEST_F(BadGolden, unknown_operator) {
  const std::string tensors = test::read_text(workspace_ / "a.safetensors");
  const size_t quote = tensors.find("\"t");
  const std::string tensor = tensors.substr(quote + 1, tensors.find('"', quote + 1) - quote - 1);
  expect_values(one_case("fake_quantize_abs_mux", tensor),
                {"golden_operator_unknown", "a.json", "'one'", "'fake_quantize_abs_mux'", "'fake_quantize_abs_max'"});
}

TEST_F(BadGolden, no_list_of_cases) {
  expect_values("{}", {"golden_value_unfit", "a.json", "object"});
  expect_values(R"([{"op": "x"}])", {"golden_value_unfit", "a.json", "case 0", "'id'"});
  expect_values(R"([{"id": 3}])", {"golden_value_unfit", "a.json", "case 0", "'id'", "number"});
}

TEST_F(BadGolden, two_files) {
  EXPECT_EQ(workspace_.error(2, {"op", "golden", "a.json", "b.json"}),
            errors::number_of_arguments("op", "golden", 2, "FILE.json"));
  EXPECT_EQ(workspace_.error(2, {"op", "check"}), errors::problems_not_chosen("check", "none"));
}

}  // namespace
}  // namespace halfstep
