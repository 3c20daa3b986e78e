// Wrong usage and bad input: one line that names the problem, the exit code, and no leftover files.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/api/errors.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/quant/platform/platform.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;
using Arguments = std::vector<std::string>;

constexpr int kBadInput = 2, kUnsupported = 3;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The small data set with one line replaced.
std::string csv_with(int line, const std::string& text) {
  std::string csv = test::small_csv();
  size_t begin = 0;
  for (int i = 1; i < line; ++i) begin = csv.find('\n', begin) + 1;
  return csv.replace(begin, csv.find('\n', begin) - begin, text);
}

std::string pixels(int count, const std::string& last) {
  std::string line;
  for (int i = 0; i < count; ++i) line += "3,";
  return line + last;
}

/// A good data set and the Models of a quickstart. Each test puts its bad input beside them.
class BadInput : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new Workspace;
    quick_start(*workspace);
    test::write_text(*workspace / "good.csv", test::small_csv());
    test::write_text(*workspace / "tiny.ir", test::linear_network("tiny"));
    test::write_text(*workspace / "file", "not a folder\n");
  }
  static void TearDownTestSuite() { delete workspace; }

  static void put(const std::string& name, const std::string& text) { test::write_text(*workspace / name, text); }
  static std::string integer_model() { return test::read_text(*workspace / "quick/integer.safetensors"); }

  static std::vector<Diagnostic> errors(int code, const Arguments& arguments) {
    const auto before = test::listing(workspace->path());
    const auto found = workspace->errors(code, arguments);
    EXPECT_TRUE(test::listing(workspace->path()) == before) << "files were left behind or changed";
    EXPECT_EQ(workspace->expect(code, arguments).out, "");
    return found;
  }
  static void expect_error(int code, const Diagnostic& expected, const Arguments& arguments) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const auto found = errors(code, arguments);
    EXPECT_EQ(found.empty() ? Diagnostic{} : found.front(), expected);
  }
  /// Expects an error of another room that names these values.
  static void expect_values(int code, const Arguments& values, const Arguments& arguments) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const auto found = errors(code, arguments);
    for (const std::string& value : values)
      EXPECT_TRUE(test::mentions(found, value)) << value << "\n" << Error(found).what();
  }

  /// Runs both commands that create a folder from a data set.
  static void expect_data_values(const Arguments& values, const std::string& data) {
    expect_values(kBadInput, values, {"train", "--data", data, "--epochs", "1", "--out", "new/run"});
    expect_values(kBadInput, values, {"quickstart", "--data", data, "--out", "new"});
  }
  static void expect_data_error(const Diagnostic& error, const std::string& data) {
    expect_error(kBadInput, error, {"train", "--data", data, "--epochs", "1", "--out", "new/run"});
    expect_error(kBadInput, error, {"quickstart", "--data", data, "--out", "new"});
  }

  static inline Workspace* workspace = nullptr;
};

// ---- data

TEST_F(BadInput, wrong_column_count) {
  put("columns.csv", csv_with(5, pixels(65, "7")));
  expect_data_values({"csv_cells", "columns.csv", "line 5", "66", "65"}, "columns.csv");
}

TEST_F(BadInput, a_cell_that_is_no_number) {
  put("cell.csv", csv_with(7, "x1," + pixels(63, "7")));
  expect_data_values({"csv_number", "cell.csv", "line 7", "column 1", "'x1'"}, "cell.csv");
}

TEST_F(BadInput, label_out_of_range) {
  put("negative.csv", csv_with(9, pixels(64, "-3")));
  expect_data_values({"csv_label", "negative.csv", "line 9", "column 65", "'-3'", "65535"}, "negative.csv");
  put("gap.csv", csv_with(9, pixels(64, "99")));
  expect_data_error(errors::class_with_few_samples("gap.csv", "99", 0, "10", 3), "gap.csv");
  put("single.csv", csv_with(9, pixels(64, "10")));
  expect_data_error(errors::class_with_few_samples("single.csv", "10", 1, "10", 3), "single.csv");
  const Arguments values = {"single.csv", "line 9", "column 65", "'10'", "9"};
  expect_values(kBadInput, values, {"eval", "--model", "quick/float.safetensors", "--data", "single.csv"});
  expect_values(
      kBadInput, values,
      {"train", "--model", "quick/float.safetensors", "--data", "single.csv", "--epochs", "1", "--out", "new"});
  expect_values(kBadInput, values,
                {"quantize", "quick/float.safetensors", "--calibrate", "single.csv", "--out", "new.safetensors"});
  expect_values(kBadInput, values, {"verify", "quick", "--data", "single.csv"});
}

TEST_F(BadInput, empty_file) {
  put("empty.csv", "");
  expect_data_values({"no_samples", "empty.csv"}, "empty.csv");
}

TEST_F(BadInput, truncated_gzip) {
  put("cut.csv.gz", test::read_text(HALFSTEP_SOURCE_DIR "/models/optdigits.csv.gz").substr(0, 20000));
  expect_data_values({"compressed_data_cut_off", "cut.csv.gz", "91469"}, "cut.csv.gz");
}

TEST_F(BadInput, missing_data) { expect_data_values({"cannot_be_read", "none.csv"}, "none.csv"); }

TEST_F(BadInput, samples_of_another_size) {
  put("narrow.csv", "1,2,3,4,0\n1,2,3,4,1\n1,2,3,4,0\n");
  expect_error(kBadInput,
               errors::samples_of_other_shape("narrow.csv", "x", "[?, 1, 2, 2]", "[?, 1, 8, 8]", "digits",
                                              "pass a data set of matching shape (--data)"),
               {"eval", "--model", "quick/float.safetensors", "--data", "narrow.csv"});
}

TEST_F(BadInput, samples_of_one_value) {
  std::string csv;
  for (int i = 0; i < 40; ++i) csv += pixels(64, std::to_string(i % 10) + "\n");
  put("flat.csv", csv);
  expect_values(kBadInput, {"calibration_input_constant", "flat.csv", "0.1875", "'x'"},
                {"quantize", "quick/float.safetensors", "--calibrate", "flat.csv", "--out", "new.safetensors"});
}

// ---- names that do not exist

TEST_F(BadInput, unknown_platform) {
  expect_values(kBadInput,
                {"'generic_int9'", "'generic_int8'", fmt::format("{}", fmt::join(quant::platform_names(), ", "))},
                {"quickstart", "--platform", "generic_int9", "--out", "new"});
}

TEST_F(BadInput, unknown_key_of_a_platform) {
  put("bad.yaml", replaced(test::read_text(HALFSTEP_SOURCE_DIR "/platforms/generic_int8.yaml"),
                           "\nlegal:", "\nroundign: 3\nlegal:"));
  expect_values(kBadInput, {"record_key_unknown", "bad.yaml:24", "roundign", "'rounding'"},
                {"quickstart", "--platform", "bad.yaml", "--out", "new"});
  expect_values(kBadInput, {"override_of_unknown_key", "'activations.rat'", "'rat'", "'rate'"},
                {"quickstart", "--overrides", "activations.rat=0.1", "--out", "new"});
  expect_error(kBadInput, errors::option_of_other_form("quickstart: --overrides", "activations", "KEY=VALUE"),
               {"quickstart", "--overrides", "activations", "--out", "new"});
}

TEST_F(BadInput, a_platform_that_cannot_be_done) {
  put("twice.yaml", replaced(test::read_text(HALFSTEP_SOURCE_DIR "/platforms/generic_int8.yaml"),
                             "\nlegal:", "\nfirst_and_last: {bits: 4}\nlegal:"));
  expect_values(kBadInput, {"record_key_twice", "twice.yaml:24", "first_and_last", "17"},
                {"quickstart", "--platform", "twice.yaml", "--out", "new"});
  expect_values(
      kBadInput,
      {"record_name_unsuitable", "platforms/generic_int8.yaml:1", "fused_activations.accumulates", "'leaky_relu'",
       "relu, relu6"},
      {"quickstart", "--overrides", "fused_activations.accumulates=[leaky_relu, relu, relu6]", "--out", "new"});
}

TEST_F(BadInput, unknown_operator) {
  put("operator.ir", replaced(test::linear_network("tiny"), "flatten(", "flaten("));
  expect_values(kBadInput, {"unknown_name", "operator.ir:4", "'flaten'", "'flatten'"},
                {"train", "--data", "good.csv", "--network", "operator.ir", "--epochs", "1", "--out", "new"});
}

TEST_F(BadInput, unknown_operator_of_the_runner) {
  expect_values(kBadInput, {"unknown_name", "'softmx'", "'softmax'"}, {"op", "check", "softmx"});
  expect_values(kBadInput, {"checked_operator_unknown", "'conv3d*'", "'conv2d'"},
                {"op", "check", "--operator", "conv3d*"});
}

TEST_F(BadInput, bits_for_an_unknown_or_illegal_layer) {
  const auto with = [](const std::string& bits) {
    return Arguments{"quantize", "quick/prepared.safetensors", "--bits", bits, "--out", "new.safetensors"};
  };
  expect_values(kBadInput, {"'conv9'", "'conv1'"}, with("conv9=4/4"));
  expect_error(kBadInput,
               errors::option_of_other_form("quantize: --bits", "conv4", "LAYERS=WEIGHTS/ACTIVATIONS, as in conv*=4/8"),
               with("conv4"));
  expect_error(
      kBadInput,
      errors::option_of_other_form("quantize: --bits", "conv4=x/4", "LAYERS=WEIGHTS/ACTIVATIONS, as in conv*=4/8"),
      with("conv4=x/4"));
  expect_values(kUnsupported,
                {"bits_not_legal", "digits:41: node 'conv4'", "generic_int8", "9", "2, 3, 4, 5, 6, 7, 8",
                 "digits:44: node 'conv5'"},
                with("conv4=3/9"));
}

TEST_F(BadInput, unknown_network) {
  expect_values(kBadInput, {"network_unknown", "'digts'", "'digits'"},
                {"train", "--network", "digts", "--epochs", "1", "--out", "new"});
}

TEST_F(BadInput, unknown_command_or_option) {
  expect_error(kBadInput, errors::unknown_command("quickstrat", ", did you mean 'quickstart'?"), {"quickstrat"});
  EXPECT_NE(workspace->expect(kBadInput, {}).err.find(errors::no_command_entry.id), std::string::npos);
  expect_error(kBadInput, errors::unknown_option("train", "--epoch", ", did you mean '--epochs'?"),
               {"train", "--epoch", "3", "--out", "new"});
  expect_error(kBadInput, errors::unknown_option("quickstart", "--platfrom=x", ", did you mean '--platform'?"),
               {"quickstart", "--platfrom=x", "--out", "new"});
  expect_error(kBadInput, errors::surplus_argument("convert", "three"), {"convert", "one", "three", "--out", "new"});
  expect_error(kBadInput, errors::argument_missing("train", "--out"), {"train", "--epochs", "3"});
  expect_error(kBadInput, errors::option_of_other_form("train: --epochs", "x", "1 to 1000000"),
               {"train", "--epochs", "x", "--out", "new"});
  expect_error(kBadInput, errors::option_of_other_form("train: --epochs", "1.5", "1 to 1000000"),
               {"train", "--epochs", "1.5", "--out", "new"});
}

// ---- what a target cannot have

TEST_F(BadInput, bits_that_are_illegal_for_the_target) {
  const Arguments layers = {"digits:34: node 'conv2'", "digits:37: node 'conv3'", "digits:41: node 'conv4'",
                            "digits:44: node 'conv5'"};
  const auto with = [&](const Arguments& values) {
    Arguments all = layers;
    all.insert(all.end(), values.begin(), values.end());
    return all;
  };
  expect_values(kUnsupported, with({"generic_int8", "9", "2, 3, 4, 5, 6, 7, 8"}),
                {"quickstart", "--weight-bits", "9", "--out", "new"});
  expect_values(kUnsupported, with({"magik_t40", "5", "4, 8"}),
                {"quickstart", "--platform", "magik_t40", "--weight-bits", "5", "--out", "new"});
}

TEST_F(BadInput, an_operator_that_cannot_become_integers) {
  put("soft.ir", replaced(test::linear_network("soft"), "x=flat,", "x=share,"));
  put("soft.ir", replaced(test::read_text(*workspace / "soft.ir"), "  head =", "  share = hardmax(x=flat)\n  head ="));
  workspace->expect(0, {"train", "--data", "good.csv", "--network", "soft.ir", "--epochs", "1", "--out", "soft"});
  workspace->expect(0, {"quantize", "soft/model.safetensors", "--calibrate", "good.csv", "--out", "soft.safetensors"});
  expect_values(kUnsupported, {"operators_cannot_become_integers", "'soft'", "hardmax 'share'"},
                {"convert", "soft.safetensors", "--out", "new.safetensors"});
  workspace->expect(0, {"convert", "soft.safetensors", "--float-fallback", "--out", "soft.integer"});
  workspace->expect(0, {"verify", "soft.safetensors", "soft.integer", "--data", "good.csv"});
  expect_values(kUnsupported, {"not_exact_in_form", "soft.ir:5: node 'share'"},
                {"export", "soft.integer", "--format", "qdq", "--out", "new.onnx"});
  expect_error(kUnsupported, errors::float_layers_in_onnxruntime("soft", "1 operator (hardmax 'share')"),
               {"verify", "soft.safetensors", "soft.integer", "--data", "good.csv", "--backend", "onnxruntime"});
}

TEST_F(BadInput, one_model_to_verify) {
  expect_error(kBadInput, errors::not_a_quickstart_folder("quick/prepared.safetensors"),
               {"verify", "quick/prepared.safetensors"});
}

TEST_F(BadInput, a_network_of_the_wrong_stage) {
  expect_error(
      kBadInput,
      errors::wrong_stage("quick/float.safetensors", "a float network", "a prepared one", "run quantize first"),
      {"convert", "quick/float.safetensors", "--out", "new.safetensors"});
  expect_error(kBadInput,
               errors::wrong_stage("network 'digits'", "a prepared network", "a float network",
                                   "set the bits of layers, repair it, or start from the float network"),
               {"quantize", "quick/prepared.safetensors", "--out", "new.safetensors"});
  expect_error(
      kBadInput,
      errors::wrong_stage("quick/prepared.safetensors", "a prepared network", "an integer one", "run convert first"),
      {"verify", "quick", "--integer", "quick/prepared.safetensors"});
  expect_error(kBadInput,
               errors::wrong_stage("network 'digits'", "an integer program", "a prepared or float network",
                                   "train its prepared network"),
               {"train", "--model", "quick/integer.safetensors", "--epochs", "1", "--out", "new"});
}

// ---- damaged files

TEST_F(BadInput, truncated_model) {
  const std::string whole = integer_model();
  put("cut.safetensors", whole.substr(0, whole.size() - 1));
  const auto outcome = workspace->expect(kBadInput, {"eval", "--model", "cut.safetensors"});
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("halfstep: error HS")) << outcome.err;
  expect_values(kBadInput, {"safetensors_offsets", "cut.safetensors", "'x.q.zero_point'"},
                {"eval", "--model", "cut.safetensors"});
  put("cut.safetensors", whole.substr(0, 4));
  expect_values(kBadInput, {"safetensors_header_length", "cut.safetensors", "4"},
                {"eval", "--model", "cut.safetensors"});
  put("cut.safetensors", "");
  EXPECT_EQ(workspace->error(kBadInput, {"inspect", "cut.safetensors"}).entry, &errors::not_a_network_file_entry);
}

/// A file that is not a network is named, with a remedy.
TEST_F(BadInput, files_of_another_kind) {
  const std::string onnx = "export it to ONNX, for instance with torch.onnx.export(module, example, 'model.onnx')";
  const auto expect_kind = [&](const std::string& contents, const std::string& kind, const std::string& remedy) {
    put("net.bin", contents);
    const Diagnostic expected = errors::not_a_network_file("net.bin", kind, remedy);
    expect_error(kBadInput, expected, {"convert", "net.bin", "--out", "new"});
    expect_error(kBadInput, expected, {"eval", "net.bin"});
  };
  expect_kind(std::string("PK\x03\x04\0\0\0\0archive/data.pkl", 24), "a PyTorch file", onnx);
  expect_kind(std::string("\x80\x02}q\0.......", 12), "a Python pickle, as in old PyTorch files", onnx);
  expect_kind("\x89PNG\r\n\x1a\n........", "a PNG image", "pass samples separately from the network");
  expect_kind("weights for the board\n", "a text", "");
  expect_kind("....TFL3........", "a TensorFlow Lite file", "export its source network to ONNX");
  expect_error(kBadInput,
               errors::not_a_network_file(
                   "quick", "a folder",
                   "choose a file in it, such as float.safetensors, integer.safetensors, prepared.safetensors"),
               {"inspect", "quick"});
}

TEST_F(BadInput, model_with_a_flipped_bit) {
  const std::string whole = integer_model();
  for (const size_t at : {whole.size() - 100, whole.size() / 2, whole.find("conv1.multiplier: i32")}) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    put("flipped.safetensors", flipped);
    expect_values(kBadInput, {"model_checksum", "flipped.safetensors"}, {"eval", "--model", "flipped.safetensors"});
  }
}

TEST_F(BadInput, model_of_a_future_version) {
  put("future.safetensors", replaced(integer_model(), R"("halfstep.version":"3")", R"("halfstep.version":"9")"));
  expect_values(kBadInput, {"model_version_newer", "future.safetensors", "9", "3"},
                {"eval", "--model", "future.safetensors"});
}

TEST_F(BadInput, missing_model) {
  expect_values(kBadInput, {"cannot_be_read", "none.safetensors"}, {"inspect", "none.safetensors"});
  expect_values(kBadInput, {"cannot_be_read", "none/prepared.safetensors"}, {"verify", "none"});
}

// ---- folders and checkpoints

TEST_F(BadInput, output_that_cannot_be_written) {
  expect_values(kBadInput, {"output_not_a_folder", "file"}, {"train", "--epochs", "1", "--out", "file"});
  expect_values(kBadInput, {"output_not_a_folder", "file"}, {"quickstart", "--out", "file"});
  expect_values(kBadInput, {"folder_cannot_be_made", "file/new"}, {"quickstart", "--out", "file/new"});
  expect_values(kBadInput, {"folder_cannot_be_made", "/proc/new"}, {"quickstart", "--out", "/proc/new"});
  expect_values(kBadInput, {"cannot_be_written", "file/new.safetensors"},
                {"convert", "quick/prepared.safetensors", "--out", "file/new.safetensors"});
}

TEST_F(BadInput, checkpoint_of_another_network) {
  put("other.ir", test::linear_network("other"));
  workspace->expect(0, {"train", "--data", "good.csv", "--network", "tiny.ir", "--epochs", "1", "--out", "run"});
  expect_values(kBadInput,
                {"checkpoint_of_another_network", "run/checkpoint_0001.safetensors", "graph tiny(", "graph other("},
                {"train", "--data", "good.csv", "--network", "other.ir", "--epochs", "1", "--out", "run", "--resume"});
}

TEST_F(BadInput, checkpoint_of_another_run) {
  workspace->expect(0, {"train", "--data", "good.csv", "--network", "tiny.ir", "--epochs", "1", "--out", "again"});
  expect_values(kBadInput,
                {"checkpoint_of_other_options", "again/checkpoint_0001.safetensors", "epochs: 1", "epochs: 2"},
                {"train", "--data", "good.csv", "--network", "tiny.ir", "--epochs", "2", "--out", "again", "--resume"});
}

// ---- run and verify

TEST_F(BadInput, injection_of_a_wrong_layer_or_index) {
  const auto expect_inject = [](const std::string& place, const Arguments& values) {
    expect_values(kBadInput, values, {"verify", "quick", "--inject", place});
  };
  expect_inject("conv9:1", {"'conv9'", "'conv1'"});
  expect_inject("pool:1", {"'pool'"});
  expect_inject("conv4:36864", {"36864", "36863"});
  for (const std::string place : {"conv4", "conv4:", "conv4:x", "conv4:-1", "conv4:99999999999999999999"})
    expect_inject(place, {"'" + place + "'"});
}

TEST_F(BadInput, tensors_that_the_network_does_not_take) {
  const auto expect_run = [](const std::map<std::string, Tensor>& tensors, const Diagnostic& error) {
    io::write_npz(*workspace / "in.npz", tensors);
    expect_error(kBadInput, error, {"run", "quick/float.safetensors", "--inputs", "in.npz", "--outputs", "new.npz"});
  };
  const Tensor x(DType::f32, {1, 1, 8, 8});
  expect_run({{"y", x}}, errors::no_input_of_network("in.npz", "y", "network 'digits'", "; there is x"));
  expect_run({}, errors::input_missing("in.npz", "x", "f32[?, 1, 8, 8]", "network 'digits'", ""));
  io::write_npz(*workspace / "x.npz", {{"x", x}});
  Diagnostic expected = errors::no_output_of_network("x", "; there is logits");
  expected.where = "x.npz";
  expect_error(kBadInput, expected,
               {"run", "quick/float.safetensors", "--inputs", "x.npz", "--expect", "x.npz", "--outputs", "new.npz"});
  expect_error(kBadInput, errors::not_a_choice("run: --device", "moon", "cpu, sim, cuda or cuda:N"),
               {"run", "quick/float.safetensors", "--inputs", "x.npz", "--device", "moon"});
}

TEST_F(BadInput, unknown_cpu_level) {
  const auto found =
      workspace->errors(kBadInput, {"eval", "--model", "quick/float.safetensors"}, {{"HALFSTEP_CPU", "abacus"}});
  for (const char* value : {"HALFSTEP_CPU", "'abacus'"}) EXPECT_TRUE(test::mentions(found, value)) << value;
}

}  // namespace
}  // namespace halfstep
