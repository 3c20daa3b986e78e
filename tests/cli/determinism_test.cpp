// Any number of threads, any CPU level and any device compute the same bits.
#include <gtest/gtest.h>

#include "halfstep/core/base/random.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/machine/cpu.h"
#include "tests/cli/program.h"

namespace halfstep {
namespace {

using test::Workspace;

Tensor random_images(int64_t count) {
  Tensor x(DType::f32, {count, 1, 8, 8});
  Random random(3, 0);
  for (float& value : x.data<float>()) value = random.uniform();
  return x;
}

TEST(Determinism, weights_do_not_depend_on_the_number_of_threads) {
  Workspace workspace;
  test::Listing first;
  for (const std::string threads : {"1", "2", "4"}) {
    SCOPED_TRACE(threads + " threads");
    const auto report = quick_start(workspace, {"--seed", "7", "--threads", threads}, "threads" + threads).json();
    auto files = test::listing(workspace / ("threads" + threads));
    EXPECT_EQ(report["weights_digest"].get<std::string>().size(), 16);
    files.erase("report.json");  // contains times
    if (first.empty()) first = files;
    EXPECT_TRUE(files == first);
  }
}

TEST(Determinism, seeds_differ) {
  Workspace workspace;
  const auto one = workspace.expect(0, {"train", "--epochs", "1", "--seed", "1", "--json", "--out", "one"}).json();
  const auto two = workspace.expect(0, {"train", "--epochs", "1", "--seed", "2", "--json", "--out", "two"}).json();
  EXPECT_NE(one["digest"], two["digest"]);
}

TEST(Determinism, an_integer_program_is_the_same_on_every_level_and_on_sim) {
  Workspace workspace;
  io::write_npz(workspace / "x.npz", {{"x", random_images(37)}});
  for (const std::string platform : {"generic_int8", "pow2_int8", "magik_t40"}) {
    quick_start(workspace, {"--platform", platform, "--overwrite"});
    const auto run = [&](const std::string& out, const std::vector<std::string>& more,
                         const Workspace::Environment& environment) {
      std::vector<std::string> arguments = {
          "run", "quick/integer.safetensors", "--inputs", "x.npz", "--outputs", out, "--overwrite"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      workspace.expect(0, arguments, environment);
      return test::read_text(workspace / out);
    };
    const std::string sim = run("sim.safetensors", {"--device", "sim"}, {});
    EXPECT_FALSE(sim.empty());
    for (const CpuLevel level : available_cpu_levels()) {
      const std::string text(name(level));
      EXPECT_TRUE(run(text + ".safetensors", {"--threads", "2"}, {{"HALFSTEP_CPU", text}}) == sim)
          << platform << " at " << text;
    }
  }
}

}  // namespace
}  // namespace halfstep
