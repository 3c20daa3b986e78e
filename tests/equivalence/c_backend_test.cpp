// C programs, compared with the integer program, and the handling of compilers and programs that fail.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "halfstep/api/errors.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "tests/equivalence/c_backend.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::test {
namespace {

/// A platform, its overrides, and the bits of weights and activations.
struct Target {
  std::string platform;
  int weights, activations;
  std::vector<std::pair<std::string, std::string>> overrides = {};
};

class CBackendOf : public CBackend, public testing::WithParamInterface<Target> {};

// A5.1
TEST_P(CBackendOf, has_the_codes_of_the_integers) {
  const Target& target = GetParam();
  Prepared prepared(target.platform, bit_widths(target.weights, target.activations), target.overrides);
  expect_equal_in_c(prepared, with_compiler(kSanitized));
}

INSTANTIATE_TEST_SUITE_P(Digits, CBackendOf,
                         testing::Values(Target{"generic_int8", 8, 8}, Target{"generic_int8", 2, 4},
                                         Target{"magik_t40", 4, 4}, Target{"pow2_int8", 4, 8},
                                         Target{"signed_pow2_int8", 8, 8}, Target{"onnxruntime_int8", 8, 8},
                                         Target{"pytorch_fbgemm", 4, 8}, Target{"pytorch_x86", 7, 8},
                                         Target{"magik_t40", 8, 12, {}},
                                         Target{"generic_int8", 8, 8, {{"requantize.rounding", "half_even"}}},
                                         Target{"generic_int8", 8, 8, {{"requantize.rounding", "half_away"}}},
                                         Target{"generic_int8", 8, 8, {{"requantize.rounding", "truncate"}}},
                                         Target{"generic_int8", 8, 8, {{"requantize.rounding", "doubled"}}}),
                         [](const auto& target) {
                           std::string name = fmt::format("{}_w{}f{}", target.param.platform, target.param.weights,
                                                          target.param.activations);
                           for (const auto& [key, value] : target.param.overrides) name += "_" + value;
                           return name;
                         });

/// Every kind of layer on codes, with tables, a product, windows that edges cut, and operators that move codes.
constexpr const char* kKinds = R"(graph kinds(x: f32[?, $channels, $height, $width]) {
  param @w1: f32[8, $channels, 3, 3]
  param @w2: f32[8, 8, 1, 1]
  param @w3: f32[8, 4, 3, 1]
  param @wd: f32[8, 1, 3, 3]
  param @head.w: f32[$classes, 64]
  param @head.b: f32[$classes]
  c1 = conv2d(x=x, w=@w1) {pad: [1, 1, 1, 1]}
  r = relu6(x=c1)
  m = global_avg_pool(x=r)
  s1 = conv2d(x=m, w=@w2)
  s = sigmoid(x=s1)
  g = mul(a=r, b=s)
  l0 = conv2d(x=g, w=@w3) {groups: 2, dilation: [2, 1], pad: [2, 0, 2, 0]}
  l = leaky_relu(x=l0) {alpha: 0.125}
  d = conv2d(x=l, w=@wd) {groups: 8, pad: [1, 1, 1, 1]}
  t = add(a=d, b=g)
  k = concat(x=[t, l])
  v = slice(x=k) {starts: [1, 0], ends: [16, 8], axes: [1, 3], steps: [2, 1]}
  e = pad(x=v) {pads: [0, 0, 1, 1, 0, 0, 0, 1]}
  p = max_pool2d(x=e) {kernel: [3, 3], stride: [2, 2], pad: [1, 1, 1, 1]}
  a = avg_pool2d(x=p) {kernel: [2, 2], stride: [1, 1], pad: [1, 0, 1, 1], count_include_pad: false}
  b = avg_pool2d(x=a) {kernel: [2, 2], stride: [2, 2], pad: [0, 1, 0, 0]}
  q = transpose(x=b) {perm: [0, 2, 3, 1]}
  f = flatten(x=q)
  f2 = slice(x=f) {starts: [0], ends: [64], axes: [1]}
  head = linear(x=f2, w=@head.w, b=@head.b)
  return logits = head
})";

// A5.1, A7.1
TEST_F(CBackend, HasEveryKindOfLayer) {
  for (const char* platform : {"generic_int8", "magik_t41"}) {
    SCOPED_TRACE(platform);
    const TemporaryFolder folder;
    io::write_file(folder / "kinds.ir", std::string_view(kKinds));
    Prepared prepared(platform, {}, {}, (folder / "kinds.ir").string());
    expect_equal_in_c(prepared, with_compiler(kSanitized));
  }
}

// A5.1, A7.1
TEST_F(CBackend, HasTheSameCodesOnEveryMachine) {
  const auto machines = other_machines();
  if (machines.empty()) GTEST_SKIP() << "there is no compiler for another machine with an emulator of it";
  for (const char* platform : {"generic_int8", "onnxruntime_int8", "magik_t40"}) {
    Prepared prepared(platform, bit_widths(4, 8));
    for (const api::CProgramOptions& machine : machines) {
      SCOPED_TRACE(fmt::format("{} on {}", platform, machine.runner.value_or("")));
      expect_equal_in_c(prepared, machine);
    }
  }
}

TEST_F(CBackend, OperatorsInFloatNeedLeaveAndAreNamed) {
  for (const char* platform : {"tensorrt", "academic"}) {
    SCOPED_TRACE(platform);
    Prepared prepared(platform);
    verify::ExecutionPaths paths =
        api::paths_of(prepared.model, api::convert(prepared.model, {.float_fallback = true}).model);
    const TemporaryFolder folder;
    EXPECT_EQ(name_of([&] { api::export_c(paths.integer, folder.path(), {.name = "net"}); }), "c_float_fallback");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    const auto written = api::export_c(paths.integer, folder.path(), {.name = "net", .float_fallback = true});
    ASSERT_FALSE(written.fallbacks.empty());
    EXPECT_NE(io::read_text_file(folder / "net.h").find(" *   " + written.fallbacks[0]), std::string::npos);
    api::add_c(paths, with_compiler("cc -O1"));
    EXPECT_TRUE(prepared.compare(paths, 4).equal());
  }
}

/// An exported program. Tests may change one weight.
class Exported {
 public:
  explicit Exported(Prepared& prepared) {
    api::export_c(api::convert(prepared.model).model, folder_.path(), {.name = "net", .hooks = true});
  }
  const std::filesystem::path& path() const { return folder_.path(); }
  /// Replaces `from` with `to` at the first place after `before` in net.c.
  void change(const std::string& before, const std::string& from, const std::string& to) {
    std::string text = io::read_text_file(folder_ / "net.c");
    const size_t at = text.find(from, text.find(before));
    ASSERT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    io::write_file(folder_ / "net.c", text);
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CBackend, FindsOneWeightThatWasChanged) {
  Prepared prepared("generic_int8");
  Exported exported(prepared);
  api::CProgramOptions options = with_compiler("cc -O1");
  options.c_folder = exported.path();
  EXPECT_TRUE(compare(prepared, options).equal());
  exported.change("conv4_w[", "{\n    ", "{\n    0 * ");  // the first weight
  const auto report = compare(prepared, options);
  EXPECT_FALSE(report.equal());
  for (const auto& layer : report.layers) {
    if (layer.layer.name == "conv4") break;
    EXPECT_EQ(layer.engine_differing, 0) << layer.layer.name;
  }
  const auto conv4 = std::ranges::find(report.layers, std::string("conv4"), [](const auto& l) { return l.layer.name; });
  EXPECT_GT(conv4->engine_differing, 0);
  ASSERT_TRUE(conv4->engine.has_value());
  EXPECT_EQ(conv4->engine->position[0], 0);  // the output channel of that weight
}

TEST_F(CBackend, ShowsTheWordsOfACompilerAndEndsWhatHangs) {
  Prepared prepared("generic_int8");
  Exported exported(prepared);
  api::CProgramOptions options = with_compiler("cc -O1");
  options.c_folder = exported.path();
  exported.change("int net_run_showing(", "{\n", "{\n    ohno;\n");
  const Diagnostic words = diagnostic_of([&] { compare(prepared, options); });
  EXPECT_EQ(words.entry, &errors::c_command_failed_entry);
  EXPECT_NE(words.found.find("ohno"), std::string::npos) << words.found;

  exported.change("int net_run_showing(", "    ohno;\n", "    for (;;) x += 0;\n");
  options.time_limit = 2;
  EXPECT_EQ(name_of([&] { compare(prepared, options); }), "c_command_late");

  exported.change("int net_run_showing(", "    for (;;) x += 0;\n", "    ((void (*)(void))0)();\n");
  options = {.compiler = "cc -O0", .c_folder = exported.path()};
  const Diagnostic ended = diagnostic_of([&] { compare(prepared, options); });
  EXPECT_EQ(ended.entry, &errors::c_command_failed_entry);
  EXPECT_NE(ended.found.find("signal 11"), std::string::npos) << ended.found;

  options.compiler = "halfstep-no-such-compiler";
  EXPECT_EQ(diagnostic_of([&] { compare(prepared, options); }).where, "halfstep-no-such-compiler");
}

TEST_F(CBackend, RefusesOtherFoldersAndOtherPrograms) {
  Prepared prepared("generic_int8");
  const TemporaryFolder empty;
  api::CProgramOptions options{.c_folder = empty.path()};
  EXPECT_EQ(name_of([&] { compare(prepared, options); }), "not_one_c_program");
  const Model integer = api::convert(prepared.model).model;
  api::export_c(integer, empty.path(), {.name = "net"});
  EXPECT_EQ(name_of([&] { compare(prepared, options); }), "c_program_without_layers");
  EXPECT_EQ(name_of([&] { api::export_c(integer, empty.path(), {.name = "net"}); }), "file_not_replaced");
}

TEST_F(CBackend, ATestProgramTestsItselfAndAnArenaIsMeasured) {
  Prepared prepared("generic_int8");
  const TemporaryFolder folder;
  const auto written = api::export_c(prepared.model, folder.path(), {.name = "net", .main = true});
  EXPECT_EQ(written.samples, 3);
  const std::string sources = (folder / "net.c").string(), program = (folder / "program").string();
  const auto compile = [&](const std::string& file) {
    const auto words = io::split_command(fmt::format("cc -O1 {} -o '{}' '{}' '{}'", kWarnings, program, sources, file));
    const auto ended = io::run_program(words, "", 1200);
    EXPECT_EQ(ended.code, 0) << ended.errors;
    return io::run_program({program}, "", 200);
  };
  const auto good = compile((folder / "net_main.c").string());
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.output, "3 samples, 0 wrong codes\n");
  std::string text = io::read_text_file(folder / "net_main.c");
  text.replace(text.find("{\n    {", text.find("expected_logits")), 7, "{\n    {0 * ");
  io::write_file(folder / "other.c", text);
  EXPECT_EQ(compile((folder / "other.c").string()).code, 1);
  io::write_file(folder / "arena.c", std::string_view(R"(#include "net.h"
static uint8_t x[NET_X_COUNT], y[NET_LOGITS_COUNT];
static union { unsigned char bytes[NET_ARENA_BYTES + 4]; int32_t aligned; } arena;
int main(void) {
    if (net_run_in(x, y, arena.bytes, NET_ARENA_BYTES - 1) != NET_ARENA_TOO_SMALL) return 2;
    if (net_run_in(x, y, arena.bytes + 1, NET_ARENA_BYTES) != NET_ARENA_MISALIGNED) return 3;
    return net_run_in(x, y, arena.bytes, NET_ARENA_BYTES);
})"));
  EXPECT_EQ(compile((folder / "arena.c").string()).code, 0);
}

TEST_F(CBackend, NoFloatingPointIsInARun) {
  Prepared prepared("generic_int8", bit_widths(4, 8));
  Exported exported(prepared);
  const std::string object = (exported.path() / "net.o").string();
  const auto words = io::split_command(fmt::format("cc -O2 -c -mgeneral-regs-only -DNET_NO_FLOAT -o '{}' '{}'", object,
                                                   (exported.path() / "net.c").string()));
  const auto ended = io::run_program(words, "", 1200);
  EXPECT_EQ(ended.code, 0) << ended.errors;
}

}  // namespace
}  // namespace halfstep::test
