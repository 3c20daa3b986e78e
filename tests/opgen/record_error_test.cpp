// Every case of record_errors.txt: records as ops/toy.yaml, and the message of opgen.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "opgen/program.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::opgen {
namespace {

struct RecordErrorCase {
  std::string name, yaml, message;
};

/// Cases start with "### NAME" and end with "=> MESSAGE".
std::vector<RecordErrorCase> load_cases() {
  std::ifstream stream(HALFSTEP_SOURCE_DIR "/tests/opgen/record_errors.txt");
  std::vector<RecordErrorCase> cases;
  RecordErrorCase current;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("### ")) {
      current = {line.substr(4), "", ""};
    } else if (line.starts_with("=> ")) {
      current.message = line.substr(3);
      cases.push_back(current);
    } else if (!current.name.empty()) {
      current.yaml += line + "\n";
    }
  }
  return cases;
}

TEST(RecordErrors, NameFileLineAndKey) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "ops");
  std::filesystem::copy_file(HALFSTEP_SOURCE_DIR "/ops/schema.yaml", folder / "ops/schema.yaml");
  const auto cases = load_cases();
  EXPECT_GE(cases.size(), 50u);
  for (const RecordErrorCase& one : cases) {
    std::ofstream(folder / "ops/toy.yaml") << one.yaml;
    EXPECT_EQ(test::error_of([&] { load_all(folder / "ops/schema.yaml", {folder / "ops/toy.yaml"}); }), one.message)
        << "case: " << one.name;
  }
}

TEST(RecordErrors, DuplicateInAnotherFileNamesBoth) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "ops");
  std::filesystem::copy_file(HALFSTEP_SOURCE_DIR "/ops/schema.yaml", folder / "ops/schema.yaml");
  const std::string record = "\n- op: copy\n  doc: A copy.\n  in: {x: any}\n  out: {out: {like: x}}\n";
  std::ofstream(folder / "ops/a.yaml") << record;
  std::ofstream(folder / "ops/b.yaml") << "\n" << record;
  EXPECT_EQ(test::error_of([&] {
              load_all(folder / "ops/schema.yaml", {folder / "ops/a.yaml", folder / "ops/b.yaml"});
            }),
            "ops/b.yaml:3: copy: the operator copy is also at ops/a.yaml:2");
}

}  // namespace
}  // namespace halfstep::opgen
