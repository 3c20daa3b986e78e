// Wrong use and bad input: one line that says what is wrong, the exit code, and nothing left behind.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/files/npz.h"
#include "halfstep/quant/platform/platform.h"
#include "tests/cli/program.h"

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

/// The small data set with a line of it replaced.
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

/// A good data set and the Models of a quickstart, next to which each test puts what is wrong.
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

  static void expect_error(int code, const std::string& message, const Arguments& arguments) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const auto before = test::listing(workspace->path());
    const auto outcome = workspace->expect(code, arguments);
    EXPECT_EQ(outcome.err, "halfstep: " + message + "\n");
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(test::listing(workspace->path()) == before) << "files were left behind or changed";
  }

  /// Both commands that make a folder from a data set.
  static void expect_data_error(const std::string& message, const std::string& data) {
    expect_error(kBadInput, message, {"train", "--data", data, "--epochs", "1", "--out", "new/run"});
    expect_error(kBadInput, message, {"quickstart", "--data", data, "--out", "new"});
  }

  static inline Workspace* workspace = nullptr;
};

// ---- data

TEST_F(BadInput, wrong_column_count) {
  put("columns.csv", csv_with(5, pixels(65, "7")));
  expect_data_error("columns.csv: line 5: found 66 cells, expected 65 as in the line before it", "columns.csv");
}

TEST_F(BadInput, a_cell_that_is_no_number) {
  put("cell.csv", csv_with(7, "x1," + pixels(63, "7")));
  expect_data_error("cell.csv: line 7, column 1: found 'x1', expected a number", "cell.csv");
}

TEST_F(BadInput, label_out_of_range) {
  put("negative.csv", csv_with(9, pixels(64, "-3")));
  expect_data_error("negative.csv: line 9, column 65: found label '-3', expected a whole number from 0 to 65535",
                    "negative.csv");
  put("gap.csv", csv_with(9, pixels(64, "99")));
  expect_data_error("gap.csv: labels go up to '99': found 0 samples of class '10', expected at least 3", "gap.csv");
  put("single.csv", csv_with(9, pixels(64, "10")));
  expect_data_error("single.csv: labels go up to '10': found 1 samples of class '10', expected at least 3",
                    "single.csv");
  const std::string message = "single.csv: line 9, column 65: found label '10', expected a whole number from 0 to 9";
  expect_error(kBadInput, message, {"eval", "--model", "quick/float.safetensors", "--data", "single.csv"});
  expect_error(
      kBadInput, message,
      {"train", "--model", "quick/float.safetensors", "--data", "single.csv", "--epochs", "1", "--out", "new"});
  expect_error(kBadInput, message,
               {"quantize", "quick/float.safetensors", "--calibrate", "single.csv", "--out", "new.safetensors"});
  expect_error(kBadInput, message, {"verify", "quick", "--data", "single.csv"});
}

TEST_F(BadInput, empty_file) {
  put("empty.csv", "");
  expect_data_error("empty.csv: found no line of samples, expected pixels and a label", "empty.csv");
}

TEST_F(BadInput, truncated_gzip) {
  put("cut.csv.gz", test::read_text(HALFSTEP_SOURCE_DIR "/models/optdigits.csv.gz").substr(0, 20000));
  expect_data_error("cut.csv.gz: gzip data ends early, after 91469 bytes of contents", "cut.csv.gz");
}

TEST_F(BadInput, missing_data) { expect_data_error("none.csv: no such file or folder", "none.csv"); }

TEST_F(BadInput, samples_of_another_size) {
  put("narrow.csv", "1,2,3,4,0\n1,2,3,4,1\n1,2,3,4,0\n");
  expect_error(kBadInput,
               "narrow.csv: samples are [?, 1, 2, 2], network 'digits' takes [?, 1, 8, 8]; name samples that fit",
               {"eval", "--model", "quick/float.safetensors", "--data", "narrow.csv"});
}

TEST_F(BadInput, samples_of_one_value) {
  std::string csv;
  for (int i = 0; i < 40; ++i) csv += pixels(64, std::to_string(i % 10) + "\n");
  put("flat.csv", csv);
  expect_error(
      kBadInput,
      "flat.csv: found nothing but 0.1875 for input 'x', expected samples as the network meets them; name others "
      "(--data)",
      {"quantize", "quick/float.safetensors", "--calibrate", "flat.csv", "--out", "new.safetensors", "--json"});
}

// ---- names that do not exist

TEST_F(BadInput, unknown_platform) {
  expect_error(
      kBadInput,
      fmt::format("platform 'generic_int9' is not known, did you mean 'generic_int8'?; expected a file or one of {}",
                  fmt::join(quant::platform_names(), ", ")),
      {"quickstart", "--platform", "generic_int9", "--out", "new"});
}

TEST_F(BadInput, unknown_key_of_a_platform) {
  put("bad.yaml", replaced(test::read_text(HALFSTEP_SOURCE_DIR "/platforms/generic_int8.yaml"),
                           "\nlegal:", "\nroundign: 3\nlegal:"));
  expect_error(kBadInput, "bad.yaml:24: roundign: unknown key, did you mean 'rounding'?",
               {"quickstart", "--platform", "bad.yaml", "--out", "new"});
  expect_error(
      kBadInput,
      "override 'features.rat': the platform has no key 'rat', did you mean 'rate'?; see halfstep platform keys",
      {"quickstart", "--set", "features.rat=0.1", "--out", "new"});
  expect_error(kBadInput, "--set: found 'features', expected KEY=VALUE",
               {"quickstart", "--set", "features", "--out", "new"});
}

TEST_F(BadInput, a_platform_that_cannot_be_done) {
  put("twice.yaml", replaced(test::read_text(HALFSTEP_SOURCE_DIR "/platforms/generic_int8.yaml"),
                             "\nlegal:", "\nedges: {bits: 4}\nlegal:"));
  expect_error(kBadInput, "twice.yaml:24: edges: the key is given twice, before in line 17",
               {"quickstart", "--platform", "twice.yaml", "--out", "new"});
  expect_error(kBadInput,
               "platforms/generic_int8.yaml:1: activations.accumulates: found 'leaky_relu', expected activations that "
               "such operators take in with the fixed_point form of requantization: relu, relu6",
               {"quickstart", "--set", "activations.accumulates=[leaky_relu, relu, relu6]", "--out", "new"});
}

TEST_F(BadInput, unknown_operator) {
  put("operator.ir", replaced(test::linear_network("tiny"), "flatten(", "flaten("));
  expect_error(kBadInput, "operator.ir:4: found 'flaten', expected an operator, did you mean 'flatten'?",
               {"train", "--data", "good.csv", "--network", "operator.ir", "--epochs", "1", "--out", "new"});
}

TEST_F(BadInput, unknown_operator_of_the_runner) {
  expect_error(kBadInput, "problem: found 'softmx', expected an operator, did you mean 'softmax'?",
               {"op", "check", "softmx"});
  expect_error(kBadInput, "operator 'conv3d*': no record of that name, did you mean 'conv2d'?",
               {"op", "check", "--operator", "conv3d*"});
}

TEST_F(BadInput, bits_for_an_unknown_or_illegal_layer) {
  const auto expect_bits = [](int code, const std::string& bits, const std::string& message) {
    expect_error(code, message, {"quantize", "quick/prepared.safetensors", "--bits", bits, "--out", "new.safetensors"});
  };
  expect_bits(kBadInput, "conv9=4/4", "selector 'conv9' matches no layer, did you mean 'conv1'?");
  expect_bits(kBadInput, "conv4", "--bits 'conv4': expected LAYERS=WEIGHTS/FEATURES, as in 'conv*=4/8'");
  expect_bits(
      kUnsupported, "conv4=3/9",
      "digits:41: node 'conv4': features on generic_int8: found 9 bits, expected 2, 3, 4, 5, 6, 7, 8; give it one of "
      "these (--bits); the same at digits:44: node 'conv5'");
}

TEST_F(BadInput, unknown_network) {
  expect_error(
      kBadInput,
      "network 'digts' is not known, did you mean 'digits'?; expected a built-in network or the path of an .ir file",
      {"train", "--network", "digts", "--epochs", "1", "--out", "new"});
}

TEST_F(BadInput, unknown_command_or_option) {
  expect_error(kBadInput, "found 'quickstrat', expected a command, did you mean 'quickstart'?; see halfstep --help",
               {"quickstrat"});
  expect_error(kBadInput, "expected a command; see halfstep --help", {});
  expect_error(kBadInput, "train: unknown option '--epoch', did you mean '--epochs'?; see halfstep train --help",
               {"train", "--epoch", "3", "--out", "new"});
  expect_error(kBadInput,
               "quickstart: unknown option '--platfrom=x', did you mean '--platform'?; see "
               "halfstep quickstart --help",
               {"quickstart", "--platfrom=x", "--out", "new"});
  expect_error(kBadInput, "convert: found 'three', expected no further argument; see halfstep convert --help",
               {"convert", "one", "three", "--out", "new"});
  expect_error(kBadInput, "train: --out is required; see halfstep train --help", {"train", "--epochs", "3"});
  expect_error(kBadInput, "train: --epochs: found 'x', expected 1 to 1000000; see halfstep train --help",
               {"train", "--epochs", "x", "--out", "new"});
  expect_error(kBadInput, "train: --epochs: found '1e3', expected a whole number; see halfstep train --help",
               {"train", "--epochs", "1e3", "--out", "new"});
}

// ---- what a target cannot have

TEST_F(BadInput, bits_that_are_illegal_for_the_target) {
  const std::string others =
      "; ask for one of these (--weights, --features, --edges), or keep the layer in float (--float NAME); the same at "
      "digits:37: node 'conv3', digits:41: node 'conv4', digits:44: node 'conv5'";
  expect_error(kUnsupported,
               "digits:34: node 'conv2': weights on generic_int8: found 9 bits, expected 2, 3, 4, 5, 6, 7, 8" + others,
               {"quickstart", "--weights", "9", "--out", "new"});
  expect_error(kUnsupported, "digits:34: node 'conv2': weights on magik_t40: found 5 bits, expected 4, 8" + others,
               {"quickstart", "--platform", "magik_t40", "--weights", "5", "--out", "new"});
}

TEST_F(BadInput, an_operator_that_cannot_become_integers) {
  put("soft.ir", replaced(test::linear_network("soft"), "x=flat,", "x=share,"));
  put("soft.ir",
      replaced(test::read_text(*workspace / "soft.ir"), "  head =", "  share = log_softmax(x=flat)\n  head ="));
  workspace->expect(0, {"train", "--data", "good.csv", "--network", "soft.ir", "--epochs", "1", "--out", "soft"});
  workspace->expect(0, {"quantize", "soft/model.safetensors", "--calibrate", "good.csv", "--out", "soft.safetensors"});
  expect_error(kUnsupported,
               "network 'soft': 1 operator (log_softmax 'share') cannot become integers; keep them in float "
               "(--float-islands), or remove them or move them behind the network's outputs",
               {"convert", "soft.safetensors", "--out", "new.safetensors"});
  workspace->expect(0, {"convert", "soft.safetensors", "--float-islands", "--out", "soft.integer"});
  workspace->expect(0, {"verify", "soft.safetensors", "soft.integer", "--data", "good.csv"});
  expect_error(kUnsupported,
               "soft.ir:5: node 'share': stays in float, where runtimes have sums of their own; the form has no such "
               "arithmetic, and codes may differ: ask for an approximation (--approximate)",
               {"export", "soft.integer", "--format", "qdq", "--out", "new.onnx"});
  expect_error(
      kUnsupported,
      "network 'soft': found 1 operator (log_softmax 'share') in float, where onnxruntime has sums of its own; "
      "expected layers on codes alone",
      {"verify", "soft.safetensors", "soft.integer", "--data", "good.csv", "--with", "onnxruntime"});
}

TEST_F(BadInput, one_model_to_verify) {
  expect_error(kBadInput,
               "quick/prepared.safetensors: found a file, expected the folder of a quickstart, or a prepared and an "
               "integer Model",
               {"verify", "quick/prepared.safetensors"});
}

TEST_F(BadInput, a_network_of_the_wrong_stage) {
  expect_error(kBadInput, "quick/float.safetensors: found a float network, expected a prepared one; run quantize first",
               {"convert", "quick/float.safetensors", "--out", "new.safetensors"});
  expect_error(kBadInput,
               "network 'digits' is prepared already; name layers whose bits are to change, repair it, or start from "
               "the float network",
               {"quantize", "quick/prepared.safetensors", "--out", "new.safetensors"});
  expect_error(kBadInput,
               "quick/prepared.safetensors: found a prepared network, expected an integer one; run convert first",
               {"verify", "quick", "--integer", "quick/prepared.safetensors"});
  expect_error(kBadInput,
               "network 'digits' is an integer program, which cannot be trained; train the prepared network "
               "it came from",
               {"train", "--model", "quick/integer.safetensors", "--epochs", "1", "--out", "new"});
}

// ---- damaged files

TEST_F(BadInput, truncated_model) {
  const std::string whole = integer_model();
  put("cut.safetensors", whole.substr(0, whole.size() - 1));
  const auto outcome = workspace->expect(kBadInput, {"eval", "--model", "cut.safetensors"});
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(outcome.err.starts_with("halfstep: cut.safetensors: tensor 'x.q.zero_point': data_offsets "))
      << outcome.err;
  put("cut.safetensors", whole.substr(0, 4));
  expect_error(kBadInput, "cut.safetensors: found 4 bytes, expected a safetensors file with its 8-byte header length",
               {"eval", "--model", "cut.safetensors"});
  put("cut.safetensors", "");
  expect_error(
      kBadInput,
      "cut.safetensors: found an empty file, expected a Model, an ONNX file or a Paddle program; was it written "
      "to its end?",
      {"inspect", "cut.safetensors"});
}

/// What is no network is named, with what to do.
TEST_F(BadInput, files_of_another_kind) {
  const std::string tail = ", expected a Model, an ONNX file or a Paddle program";
  const std::string onnx = "; export it to ONNX, for instance with torch.onnx.export(module, example, 'model.onnx')";
  const auto expect_kind = [&](const std::string& contents, const std::string& what) {
    put("net.bin", contents);
    expect_error(kBadInput, "net.bin: found " + what, {"convert", "net.bin", "--out", "new"});
    expect_error(kBadInput, "net.bin: found " + what, {"eval", "net.bin"});
  };
  expect_kind(std::string("PK\x03\x04\0\0\0\0archive/data.pkl", 24), "a PyTorch file" + tail + onnx);
  expect_kind(std::string("\x80\x02}q\0.......", 12), "a Python pickle, as old PyTorch files are" + tail + onnx);
  expect_kind("\x89PNG\r\n\x1a\n........", "a PNG image" + tail + "; samples are given apart from the network");
  expect_kind("weights for the board\n", "a text" + tail);
  expect_kind("....TFL3........",
              "a TensorFlow Lite file" + tail + "; export the network that it was made from to ONNX");
  expect_error(kBadInput,
               "quick: found a folder" + tail +
                   "; name a file in it, such as float.safetensors, integer.safetensors, prepared.safetensors",
               {"inspect", "quick"});
}

TEST_F(BadInput, model_with_a_flipped_bit) {
  const std::string whole = integer_model();
  for (const size_t at : {whole.size() - 100, whole.size() / 2, whole.find("conv1.multiplier: i32")}) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    put("flipped.safetensors", flipped);
    expect_error(kBadInput, "flipped.safetensors: checksum differs, the file is damaged",
                 {"eval", "--model", "flipped.safetensors"});
  }
}

TEST_F(BadInput, model_of_a_future_version) {
  put("future.safetensors", replaced(integer_model(), R"("halfstep.version":"1")", R"("halfstep.version":"9")"));
  expect_error(kBadInput, "future.safetensors: format version 9, this build reads up to 2",
               {"eval", "--model", "future.safetensors"});
}

TEST_F(BadInput, missing_model) {
  expect_error(kBadInput, "none.safetensors: no such file or directory", {"inspect", "none.safetensors"});
  expect_error(kBadInput, "none/prepared.safetensors: no such file or directory", {"verify", "none"});
}

// ---- folders and checkpoints

TEST_F(BadInput, output_that_cannot_be_written) {
  expect_error(kBadInput, "file: cannot be made a folder: is a file; name another folder",
               {"train", "--epochs", "1", "--out", "file"});
  expect_error(kBadInput, "file: cannot be made a folder: is a file; name another folder",
               {"quickstart", "--out", "file"});
  expect_error(kBadInput, "file/new: cannot be made a folder: not a directory; name another place",
               {"quickstart", "--out", "file/new"});
  expect_error(kBadInput,
               "/proc/new: cannot be made a folder: no such file or directory; make the folder that it is to lie in, "
               "or name another",
               {"quickstart", "--out", "/proc/new"});
  expect_error(kBadInput, "file/new.safetensors: cannot be written: not a directory; name another place",
               {"convert", "quick/prepared.safetensors", "--out", "file/new.safetensors"});
}

TEST_F(BadInput, checkpoint_of_another_network) {
  put("other.ir", test::linear_network("other"));
  workspace->expect(0, {"train", "--data", "good.csv", "--network", "tiny.ir", "--epochs", "1", "--out", "run"});
  expect_error(kBadInput,
               "run/checkpoint_0001.safetensors: is of another network: found \"graph tiny(x: f32[?, 1, 8, 8]) {\\n  "
               "param @head.b: f32[10]\\n  \","
               " expected \"graph other(x: f32[?, 1, 8, 8]) {\\n  param @head.b: f32[10]\\n \"",
               {"train", "--data", "good.csv", "--network", "other.ir", "--epochs", "1", "--out", "run", "--resume"});
}

TEST_F(BadInput, checkpoint_of_another_run) {
  workspace->expect(0, {"train", "--data", "good.csv", "--network", "tiny.ir", "--epochs", "1", "--out", "again"});
  const auto outcome = workspace->expect(kBadInput, {"train", "--data", "good.csv", "--network", "tiny.ir", "--epochs",
                                                     "2", "--out", "again", "--resume"});
  EXPECT_EQ(outcome.err,
            "halfstep: again/checkpoint_0001.safetensors: is of another run: found epochs: 1; expected epochs: 2; "
            "repeat the options "
            "of that run, or name another folder\n");
}

// ---- run and verify

TEST_F(BadInput, injection_of_a_wrong_layer_or_index) {
  const auto expect_inject = [](const std::string& place, const std::string& message) {
    expect_error(kBadInput, message, {"verify", "quick", "--inject", place});
  };
  expect_inject("conv9:1", "layer 'conv9': the program has no layer of that name with weights, did you mean 'conv1'?");
  expect_inject("pool:1", "layer 'pool': the program has no layer of that name with weights");
  expect_inject("conv4:36864", "'conv4:36864': found index 36864, expected 0 to 36863");
  for (const std::string place : {"conv4", "conv4:", "conv4:x", "conv4:-1", "conv4:99999999999999999999"})
    expect_inject(place, "'" + place + "': expected LAYER:INDEX, as in conv1:17");
}

TEST_F(BadInput, tensors_that_the_network_does_not_take) {
  const auto expect_run = [](const std::map<std::string, Tensor>& tensors, const std::string& message) {
    io::write_npz(*workspace / "in.npz", tensors);
    expect_error(kBadInput, message, {"run", "quick/float.safetensors", "--inputs", "in.npz", "--outputs", "new.npz"});
  };
  const Tensor x(DType::f32, {1, 1, 8, 8});
  expect_run({{"y", x}}, "in.npz: tensor 'y' is no input of network 'digits'; there is x");
  expect_run({}, "in.npz: input 'x' of network 'digits' is missing; give it an array of this name");
  io::write_npz(*workspace / "x.npz", {{"x", x}});
  expect_error(kBadInput, "x.npz: tensor 'x' is no output of the network",
               {"run", "quick/float.safetensors", "--inputs", "x.npz", "--expect", "x.npz", "--outputs", "new.npz"});
  expect_error(kBadInput, "place: found 'moon', expected cpu, sim, cuda or cuda:N",
               {"run", "quick/float.safetensors", "--inputs", "x.npz", "--place", "moon"});
}

TEST_F(BadInput, unknown_cpu_level) {
  const auto outcome =
      workspace->expect(kBadInput, {"eval", "--model", "quick/float.safetensors"}, {{"HALFSTEP_CPU", "abacus"}});
  EXPECT_EQ(outcome.err, "halfstep: HALFSTEP_CPU: found 'abacus', expected scalar, avx2, avx512, vnni or amx\n");
}

}  // namespace
}  // namespace halfstep
