// External backends, compared with the integer program inside branches and loops, at each entry.
#include <gtest/gtest.h>

#include "halfstep/api/detail/onnxruntime_backend.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/temporary_folder.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"
#include "halfstep/formats/onnx_export/record_inside.h"
#include "tests/equivalence/c_backend.h"
#include "tests/equivalence/flow.h"
#include "tests/support/error.h"

namespace halfstep::test {
namespace {

constexpr const char* kInside[] = {"from_row", "from_state", "next", "up", "soft", "grown", "sum"};

void expect_equal_inside(const verify::VerifyReport& report) {
  EXPECT_TRUE(report.equal());
  for (const char* name : kInside) {
    const auto& one = layer(report, name);
    EXPECT_NE(one.layer.path, "") << name;
    EXPECT_GT(one.compared, 0) << name;
    EXPECT_EQ(one.engine_compared, one.compared) << name;
    EXPECT_EQ(one.engine_differing, 0) << name;
  }
}

class CInside : public CBackend {
 protected:
  /// Verifies with the C program, in which `change` is inserted before `layer` is shown.
  verify::VerifyReport prove_with(const std::string& layer, const std::string& change) {
    const Model integer = flow_.integers();
    const auto program = formats::c::c_program(integer, {.name = "flow", .hooks = true, .float_fallback = true});
    io::TemporaryFolder folder;
    for (const formats::c::CFile& file : program.files) {
      std::string text = file.text;
      if (const size_t at = text.find("if (hook != NULL) hook(\"" + layer + "\""); at != std::string::npos)
        text.insert(at, change + "\n");
      io::write_file(folder / file.name, text);
    }
    api::CProgramOptions options = with_compiler("cc -O1");
    options.c_folder = folder.path();
    verify::ExecutionPaths paths = api::paths_of(flow_.prepared, integer);
    api::add_c(paths, options);
    return flow_.prove(paths);
  }

  Flow flow_;
};

// A7.1
TEST_F(CInside, HasTheCodesOfEveryEntry) { expect_equal_inside(prove_with("", "")); }

TEST_F(CInside, ACodeThatDiffersIsFoundAtItsIteration) {
  const verify::VerifyReport report = prove_with("from_state", "if (cell_turn == 3) from_state_y[2] ^= 1;");
  EXPECT_FALSE(report.equal());
  const verify::LayerReport* const first = report.first_of_engine();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->layer.name, "from_state");
  EXPECT_EQ(first->engine->path, "scan 'cell', iteration 3");
  EXPECT_EQ(first->engine->index, 2);
  EXPECT_EQ(first->differing, 0);
  EXPECT_EQ(layer(report, "from_row").engine_differing, 0);
  const std::string verdict = report::verdict(report);
  EXPECT_NE(
      verdict.find("first differing activation: scan 'cell', iteration 3: layer 'from_state': activation code 2 at "),
      std::string::npos)
      << verdict;
}

/// Layers in front of the one that computes a state read a wrong state one iteration later.
TEST_F(CInside, TheFirstDifferenceIsTheFirstInTime) {
  const verify::VerifyReport report = prove_with("next", "if (cell_turn == 1) next_y[0] ^= 64;");
  EXPECT_GT(layer(report, "from_state").engine_differing, 0);
  const verify::LayerReport* const first = report.first_of_engine();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->layer.name, "next");
  EXPECT_EQ(first->engine->path, "scan 'cell', iteration 1");
}

TEST_F(CInside, AnotherNumberOfIterationsDiffers) {
  const verify::VerifyReport report = prove_with("small", "small_y[0] = 0;");
  EXPECT_FALSE(report.equal());
  const verify::LayerReport* const first = report.first_of_engine();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->engine->what, "count");
  EXPECT_GT(first->engine->first, first->engine->second);
  EXPECT_NE(report::verdict(report).find("while 'loop': layer "), std::string::npos) << report::verdict(report);
  EXPECT_NE(report::verdict(report).find("iteration counts differ: "), std::string::npos);
}

class OnnxruntimeInside : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("HALFSTEP_PYTHON") == nullptr) GTEST_SKIP() << "no HALFSTEP_PYTHON";
    const io::Ended ended = io::run_program({io::python_interpreter(), "-c", "import onnxruntime"}, "", 600);
    if (ended.code != 0) GTEST_SKIP() << io::python_interpreter() << " has no onnxruntime";
  }
  Flow flow_{{}, 0, "onnxruntime_int8"};
};

// A7.3
TEST_F(OnnxruntimeInside, HasTheCodesOfEveryEntry) {
  verify::ExecutionPaths paths = api::paths_of(flow_.prepared, flow_.integers());
  api::add_onnxruntime(paths, {});
  const verify::VerifyReport report = flow_.prove(paths);
  expect_equal_inside(report);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_NE(report.notes[0].find("reduce_sum 'total'"), std::string::npos);
}

/// The file has another weight in the branch than the program.
TEST_F(OnnxruntimeInside, ACodeThatDiffersIsFound) {
  verify::ExecutionPaths paths = api::paths_of(flow_.prepared, flow_.integers());
  verify::ExecutionPaths other = paths;
  verify::inject(other.integer, "up:3");
  api::add_onnxruntime(other, {});
  paths.engine = other.engine;
  paths.inside = other.inside;
  const verify::VerifyReport report = flow_.prove(paths);
  const verify::LayerReport* const first = report.first_of_engine();
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->layer.name, "up");
  EXPECT_EQ(first->engine->path, "if 'choice'");
  EXPECT_EQ(first->engine->index, 0);
  EXPECT_EQ(layer(report, "next").engine_differing, 0);
}

/// A Scan can only stack values of the same extents, and the list of a branch varies.
TEST(RecordInside, LeavesOutBranchesInsideOfAScan) {
  Model model;
  model.graph = parse(R"(graph rows(x: f32[4, 3], on: bool[]) {
  s = scan(values=[x, on]) {states: 0, scanned: 1} region body(row: f32[3], on1: bool[]) {
    twice = add(a=row, b=row)
    r = if(cond=on1, captured=[twice]) region then(a: f32[3]) {
      y = tanh(a)
      return y
    } region else(b: f32[3]) { return b }
    return r
  }
  return s
})",
                      "rows.ir");
  io::TemporaryFolder folder;
  formats::onnx::export_file(model, {}, folder / "rows.onnx");
  const auto recorded = formats::onnx::record_inside(folder / "rows.onnx", {{"twice", DType::f32}, {"y", DType::f32}});
  EXPECT_EQ(recorded.values, std::vector<std::string>{"twice"});
  EXPECT_EQ(recorded.left_out, std::vector<std::string>{"y"});
  EXPECT_EQ(name_of([&] {
              formats::onnx::record_inside(folder / "rows.onnx", {{"s", DType::f32}});
            }),
            "value_not_in_export");
}

}  // namespace
}  // namespace halfstep::test
