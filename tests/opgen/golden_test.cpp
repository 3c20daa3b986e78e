// The toy family: opgen's output for it is compared with the files *.golden beside it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "opgen/program.h"
#include "tests/support/files.h"

namespace halfstep::opgen {
namespace {

const std::string kRoot = HALFSTEP_SOURCE_DIR;

Records toy_records() { return load_all(kRoot + "/ops/schema.yaml", {kRoot + "/tests/opgen/toy/toy.yaml"}); }

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Path of a golden file: tests/opgen/toy/kernels_ops.h.golden for halfstep/engine/kernels/ops.h.
std::filesystem::path golden_path(const std::string& output) {
  const std::filesystem::path path(output);
  const std::string folder = path.parent_path().filename().string();
  return std::filesystem::path(kRoot) / "tests/opgen/toy" / (folder + "_" + path.filename().string() + ".golden");
}

/// HALFSTEP_UPDATE_GOLDEN=1 writes the files instead of comparing. Then check `git diff`.
TEST(Golden, ToyFamily) {
  const bool update = std::getenv("HALFSTEP_UPDATE_GOLDEN") != nullptr;
  for (const OutputFile& file : emit_all(toy_records())) {
    const auto path = golden_path(file.path);
    if (update) std::ofstream(path, std::ios::binary) << file.text;
    EXPECT_EQ(read(path), file.text) << path;
  }
}

TEST(Golden, NoGoldenFileIsLeftOver) {
  size_t golden = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/tests/opgen/toy"))
    golden += entry.path().extension() == ".golden" ? 1 : 0;
  EXPECT_EQ(golden, emit_all(toy_records()).size());
}

TEST(Output, IsRewrittenOnlyWhereItChanged) {
  const test::TemporaryFolder folder;
  const std::vector<OutputFile> files = {{"a/one.txt", "1\n"}, {"two.txt", "2\n"}};
  write_all(files, folder.path().string());
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const OutputFile& file : files) std::filesystem::last_write_time(folder / file.path, long_ago);
  write_all({{"a/one.txt", "1\n"}, {"two.txt", "22\n"}}, folder.path().string());
  EXPECT_EQ(std::filesystem::last_write_time(folder / "a/one.txt"), long_ago);
  EXPECT_NE(std::filesystem::last_write_time(folder / "two.txt"), long_ago);
  EXPECT_EQ(read(folder / "two.txt"), "22\n");
}

}  // namespace
}  // namespace halfstep::opgen
