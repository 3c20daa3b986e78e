// Compiles, runs and compares C programs.
#pragma once

#include <gtest/gtest.h>

#include "halfstep/api/detail/c_backend.h"
#include "halfstep/core/files/child_process.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {

constexpr const char* kWarnings = " -std=c99 -Wall -Wextra -Wconversion -pedantic -Werror";
constexpr const char* kSanitized = "cc -O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error";

inline bool is_there(const std::string& program) {
  try {
    return io::run_program({program, "--version"}, "", 200).code == 0;
  } catch (const Error&) {
    return false;
  }
}

inline api::CProgramOptions with_compiler(const std::string& compiler, const std::optional<std::string>& runner = {}) {
  return {.compiler = compiler + kWarnings, .runner = runner};
}

/// Target machines whose compiler and emulator are installed.
inline std::vector<api::CProgramOptions> other_machines() {
  constexpr std::pair<const char*, const char*> kMachines[] = {{"arm-linux-gnueabihf-gcc", "qemu-arm"},
                                                               {"aarch64-linux-gnu-gcc", "qemu-aarch64"},
                                                               {"riscv64-linux-gnu-gcc", "qemu-riscv64"},
                                                               {"s390x-linux-gnu-gcc", "qemu-s390x"},
                                                               {"powerpc-linux-gnu-gcc", "qemu-ppc"}};
  std::vector<api::CProgramOptions> found;
  for (const auto& [compiler, runner] : kMachines) {
    if (is_there(compiler) && is_there(runner))
      found.push_back(with_compiler(compiler + std::string(" -static -O2"), runner));
  }
  return found;
}

/// Compares the integer program of the network with C. Expects no operator in float.
inline verify::VerifyReport compare(Prepared& prepared, const api::CProgramOptions& options, int64_t samples = 4) {
  verify::ExecutionPaths paths = api::paths_of(prepared.model, api::convert(prepared.model).model);
  api::add_c(paths, options);
  return prepared.compare(paths, samples);
}

inline void expect_equal_in_c(Prepared& prepared, const api::CProgramOptions& options) {
  const auto report = compare(prepared, options);
  EXPECT_TRUE(report.equal());
  for (const auto& layer : report.layers) {
    EXPECT_GT(layer.engine_compared, 0) << layer.layer.name;
    EXPECT_EQ(layer.engine_differing, 0) << layer.layer.name;
  }
}

inline quant::PrepareOptions bit_widths(int weights, int activations) {
  quant::PrepareOptions options;
  options.weight_bits = weights;
  options.activation_bits = activations;
  return options;
}

class CBackend : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_there("cc")) GTEST_SKIP() << "there is no C compiler";
  }
};

}  // namespace halfstep::test
