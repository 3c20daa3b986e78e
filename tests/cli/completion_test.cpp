// Bash completions, which the program derives from its own options.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include <sstream>
#include <string>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/version.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

using test::Workspace;

/// Completions at the end of `line`, one per line. `rest` is the text after the cursor.
std::string completions(const std::string& line, const std::string& rest = "") {
  Workspace workspace;
  return workspace
      .expect(0, {"--complete", "halfstep", "", ""},
              {{"COMP_LINE", line + rest}, {"COMP_POINT", std::to_string(line.size())}})
      .out;
}

TEST(Completion, Commands) {
  const std::string all = completions("halfstep ");
  for (const char* command : {"quantize\n", "quickstart\n", "\nop\n"})
    EXPECT_NE(all.find(command), std::string::npos) << all;
  EXPECT_EQ(completions("halfstep qua"), "quantize\n");
  EXPECT_EQ(completions("halfstep  qua", "ntize x"), "quantize\n");
  EXPECT_EQ(completions("halfstep --v"), "--version\n");
  EXPECT_EQ(completions("halfstep nothing --"), "");
}

TEST(Completion, EveryOptionOfItsHelp) {
  Workspace workspace;
  const std::string help = workspace.expect(0, {"train", "--help-all"}).out;
  std::set<std::string> expected, found;
  const std::regex line("\n  (?:-[a-z],)?(--[a-z-]+)(?:,(--[a-z-]+))?");
  for (std::sregex_iterator it(help.begin(), help.end(), line), end; it != end; ++it) {
    expected.insert((*it)[1]);
    if ((*it)[2].matched) expected.insert((*it)[2]);
  }
  std::istringstream options(completions("halfstep train net.onnx --"));
  for (std::string option; std::getline(options, option);) found.insert(option);
  EXPECT_EQ(found, expected) << help;
  EXPECT_EQ(completions("halfstep train --overw"), "--overwrite\n");
}

TEST(Completion, Choices) {
  EXPECT_EQ(completions("halfstep export net.safetensors --format "), "float\nqdq\nqoperator\nc\ndeploy\n");
  EXPECT_EQ(completions("halfstep export net.safetensors --format=q"), "qdq\nqoperator\n");
  EXPECT_EQ(completions("halfstep quantize net.onnx --platform pow"), "pow2_int8\n");
  EXPECT_EQ(completions("halfstep verify a b --semantics "), "sampled\nall\n");
  EXPECT_EQ(completions("halfstep op gr"), "grad\n");
  EXPECT_EQ(completions("halfstep quantize "), "") << "bash looks for files";
  EXPECT_EQ(completions("halfstep quantize --calibrate "), "");
}

TEST(Completion, NeedsTheLine) {
  Workspace workspace;
  EXPECT_EQ(workspace.error(2, {"--complete"}), errors::no_line_to_complete("--complete"));
}

TEST(Completion, TheScriptAsksForIt) {
  EXPECT_NE(test::read_text(HALFSTEP_SOURCE_DIR "/cli/completion.bash").find("-C 'halfstep --complete' halfstep\n"),
            std::string::npos);
}

TEST(Version, IsThatOfCMake) {
  Workspace workspace;
  const std::string lists = test::read_text(HALFSTEP_SOURCE_DIR "/CMakeLists.txt");
  EXPECT_NE(lists.find(fmt::format("project(halfstep VERSION {} ", kVersion)), std::string::npos);
  EXPECT_EQ(workspace.expect(0, {"--version"}).out, fmt::format("halfstep {}\n", kVersion));
}

}  // namespace
}  // namespace halfstep
