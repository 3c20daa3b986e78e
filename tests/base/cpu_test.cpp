#include "halfstep/core/machine/cpu.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "halfstep/core/machine/errors.h"

namespace halfstep {
namespace {

struct Result {
  int exit_code;
  std::string output;
};

/// Runs the test below in a separate process, because a process chooses its level only once.
Result run_with_level(const std::string& level) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "HALFSTEP_CPU=" + level + " '" + program + "' --gtest_filter=Cpu.LevelIsTheForcedOrTheDetectedOne";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) output += static_cast<char>(c);
  return {WEXITSTATUS(::pclose(pipe)), output};
}

TEST(Cpu, LevelIsTheForcedOrTheDetectedOne) {
  const char* forced = std::getenv("HALFSTEP_CPU");
  EXPECT_EQ(name(cpu_level()), forced == nullptr ? name(detected_cpu_level()) : forced);
}

TEST(Cpu, EveryAvailableLevelCanBeForced) {
  for (const CpuLevel level : available_cpu_levels()) {
    const Result result = run_with_level(std::string(name(level)));
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
}

TEST(Cpu, LevelsThatAreMissingOrUnknownAreNamed) {
  const Result unknown = run_with_level("sse9");
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_EQ(unknown.output, "failed: " + errors::unknown_cpu_level("sse9").message() + "\n");
  if (detected_cpu_level() == CpuLevel::amx) GTEST_SKIP() << "this machine has every level";
  const Result missing = run_with_level("amx");
  EXPECT_EQ(missing.exit_code, 77);
  EXPECT_EQ(missing.output,
            "skipped: " + errors::cpu_level_missing("amx", name(detected_cpu_level())).message() + "\n");
}

TEST(Cpu, NamesRoundTripInOrder) {
  const auto levels = available_cpu_levels();
  EXPECT_EQ(levels.front(), CpuLevel::scalar);
  EXPECT_EQ(levels.back(), detected_cpu_level());
  for (const CpuLevel level : levels) EXPECT_EQ(parse_cpu_level(name(level)), level);
  EXPECT_EQ(parse_cpu_level("AVX2"), std::nullopt);
}

}  // namespace
}  // namespace halfstep
