#include "halfstep/core/files/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::diagnostic_of;

std::vector<std::string> shell(const std::string& script) { return {"sh", "-c", script}; }

TEST(ChildProcess, AnswersEveryLine) {
  const test::TemporaryFolder folder;
  ChildProcess child(shell("echo ready; while read line; do echo \"<$line>\"; done"), folder / "errors");
  EXPECT_EQ(child.read_line(), "ready");
  for (const std::string line : {"one", "two words", ""}) EXPECT_EQ(child.ask(line), "<" + line + ">");
  const std::string large(1 << 16, 'x');
  EXPECT_EQ(child.ask(large), "<" + large + ">");
}

TEST(ChildProcess, AnEndIsNoAnswerAndNoSignal) {
  const test::TemporaryFolder folder;
  ChildProcess child(shell("echo why >&2"), folder / "errors");
  EXPECT_EQ(child.read_line(), std::nullopt);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(child.ask("anyone"), std::nullopt);
  EXPECT_EQ(read_text_file(folder / "errors"), "why\n");
}

TEST(ChildProcess, IsGoneWithItsObject) {
  const test::TemporaryFolder folder;
  pid_t process = 0;
  {
    ChildProcess child(shell("echo $$; exec sleep 1000"), folder / "errors");
    process = std::stoi(child.read_line().value());
    EXPECT_EQ(::kill(process, 0), 0);
  }
  EXPECT_EQ(::kill(process, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(ChildProcess, AProgramThatIsNotThereIsUnsupported) {
  const test::TemporaryFolder folder;
  const auto start = [&] { ChildProcess child({"/nowhere/program"}, folder / "errors"); };
  EXPECT_EQ(diagnostic_of(start), errors::program_cannot_be_run("/nowhere/program", "no such file or directory"));
}

TEST(RunProgram, GivesAllOfItsInputAndReadsToTheEnd) {
  const std::string large(3 << 20, 'x');
  const Ended ended = run_program(shell("cat; echo why >&2; exit 3"), large, 200);
  EXPECT_EQ(ended.output, large);
  EXPECT_EQ(ended.errors, "why\n");
  EXPECT_EQ(ended.code, 3);
  EXPECT_FALSE(ended.is_late);
}

TEST(RunProgram, IsEndedInTimeAndSaysHowItEnded) {
  EXPECT_TRUE(run_program(shell("sleep 100"), "", 0.2).is_late);
  EXPECT_EQ(run_program(shell("kill -9 $$"), "", 200).signal, 9);
  EXPECT_EQ(run_program(shell("exec <&-; echo done"), std::string(1 << 20, 'x'), 200).output, "done\n");
}

TEST(SplitCommand, KnowsQuotes) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_command("gcc  -static\t-O2"), (Words{"gcc", "-static", "-O2"}));
  EXPECT_EQ(split_command("a 'b c' \"d 'e'\"f ''"), (Words{"a", "b c", "d 'e'f", ""}));
  EXPECT_EQ(split_command("  "), Words{});
  EXPECT_EQ(diagnostic_of([] { split_command("a 'b"); }), errors::quote_without_end("a 'b"));
}

}  // namespace
}  // namespace halfstep::io
