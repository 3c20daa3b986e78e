// Raises every error of the verbs, and checks its values.
#include <gtest/gtest.h>

#include "halfstep/api/detail/c_backend.h"
#include "halfstep/api/detail/iterations.h"
#include "halfstep/api/detail/network_source.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/tools/gradient.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/data/datasets/image.h"
#include "halfstep/halfstep.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

using test::diagnostic_of;
using test::diagnostics_of;
using test::name_of;
using test::TemporaryFolder;

const Dataset& digits() {
  static const Dataset kDigits = data::digits();
  return kDigits;
}
const Model& network() {
  static const Model kNetwork = create_network("digits", digits(), 1);
  return kNetwork;
}
const Model& prepared() {
  static const Model kPrepared = quantize(network(), quant::load_platform("generic_int8"), digits(), {}, {}).model;
  return kPrepared;
}
const Model& integer() {
  static const Model kInteger = convert(prepared()).model;
  return kInteger;
}

/// 8 rows of 6 numbers, called x.
Dataset rows() { return make_data({{"x", Tensor(DType::f32, {8, 6})}}, "rows", {.all = true}); }

/// Rows of the shape of rows(), with values other than 0.
Dataset numbers() {
  Tensor x(DType::f32, {8, 6});
  for (size_t i = 0; i < 48; ++i) x.data<float>()[i] = static_cast<float>(i % 7) - 3;
  return make_data({{"x", x}}, "numbers", {.all = true});
}

Model linear(const std::string& x) {
  return train::initialize(
      parse("graph g(" + x + ") {\n  param @w: f32[5, 6]\n  y = linear(x, w=@w)\n  return y\n}\n", "g.ir"), 1);
}

TEST(Errors, StagesOfNetworks) {
  const TemporaryFolder folder;
  const auto exported = [&](const Model& model, ExportFormat format) {
    return diagnostic_of([&] { export_onnx(model, folder / "n.onnx", {.format = format}); });
  };
  EXPECT_EQ(exported(network(), ExportFormat::qdq),
            errors::wrong_stage("network 'digits'", "a float network", "a prepared network or an integer program",
                                "run quantize first"));
  EXPECT_EQ(exported(integer(), ExportFormat::float_),
            errors::wrong_stage("network 'digits'", "an integer program", "a network with float weights",
                                "export its source network"));
  EXPECT_EQ(exported(network(), ExportFormat::c), errors::not_a_choice("format", "c", "float, qdq or qoperator"));
  EXPECT_EQ(exported(prepared(), ExportFormat::qdq), errors::requantization_not_in_onnx("digits", "fixed_point"));
  io::write_file(folder / "net.bin", std::string_view("weights for the board\n"));
  EXPECT_EQ(diagnostic_of([&] { load(folder / "net.bin"); }),
            errors::not_a_network_file((folder / "net.bin").string(), "a text", ""));
}

TEST(Errors, Schedules) {
  const Platform platform = quant::load_platform("generic_int8");
  const auto trained = [&](const Model& model, std::vector<StageBits> stages, std::optional<Platform> on) {
    return diagnostic_of([&] {
      train(model, digits(), {.epochs = 1, .schedule = {.stages = std::move(stages), .platform = std::move(on)}}, {});
    });
  };
  EXPECT_EQ(trained(network(), {}, platform), errors::platform_without_schedule("generic_int8"));
  EXPECT_EQ(trained(network(), {{8, 8}, {0, 0}}, platform), errors::schedule_with_late_float());
  EXPECT_EQ(trained(network(), {{8, 8}}, {}),
            errors::no_platform("digits", "the platform of the schedule", "set one (--platform)"));
  EXPECT_EQ(trained(prepared(), {{8, 8}}, platform),
            errors::wrong_stage("network 'digits'", "a prepared network", "a float network for a platform",
                                "omit the platform"));
  EXPECT_EQ(trained(prepared(), {{0, 0}}, {}),
            errors::wrong_stage("network 'digits'", "a prepared network", "a float network for a stage in float",
                                "start from the float network"));
  EXPECT_EQ(diagnostic_of([] { parse_stage_bits("17"); }), errors::wrong_stage_of_schedule("17"));
}

TEST(Errors, SamplesThatANetworkDoesNotTake) {
  EXPECT_EQ(diagnostic_of([] {
              parts_for(linear("x: f32[?, 6]"), make_data({{"x", Tensor(DType::f32, {8, 7})}}, "rows"));
            }),
            errors::samples_of_other_shape("rows", "x", "[?, 7]", "[?, 6]", "g",
                                           "pass a data set of matching shape (--data)"));
  EXPECT_EQ(diagnostic_of([] { values_of(linear("x: f32[64, 6]"), rows(), {}, {}); }),
            errors::too_few_samples("g", 8, 64));
  EXPECT_EQ(diagnostic_of([] {
              const char* constant = "graph g() {\n  const @c: f32[2]\n  y = relu(x=@c)\n  return y\n}\n";
              parts_for(train::initialize(parse(constant, "g.ir"), 1), rows());
            }),
            errors::network_without_input("g"));
  EXPECT_EQ(diagnostic_of([] { fitted_picture(rows(), 0); }), errors::samples_not_images("rows", "[6]"));
  EXPECT_EQ(diagnostic_of([] { create_network("digits", rows(), 0); }), errors::new_network_without_labels("rows"));
  EXPECT_EQ(diagnostic_of([] {
              const Tensors named = {{"a", Tensor(DType::f32, {8, 6})}, {"labels", Tensor(DType::i64, {8})}};
              create_network("digits", make_data(named, "named"), 0);
            }),
            errors::new_network_with_named_inputs("named"));
}

TEST(Errors, Images) {
  const TemporaryFolder folder;
  io::write_file(folder / "1.png", data::encode_png(Tensor(DType::u8, {20, 6, 3})));
  const std::string name = folder.path().filename().string();
  const auto taken = [&](const data::PreprocessOptions& preprocess) {
    return diagnostic_of([&] {
      Model colours =
          train::initialize(parse("graph g(x: f32[?, 3, 8, 8]) {\n  y = relu(x)\n  return y\n}\n", "g.ir"), 1);
      data::change_preprocess(colours, preprocess);
      parts_for(colours, load_data(folder.path().string()));
    });
  };
  EXPECT_EQ(taken({.crop = 8}), errors::crop_exceeds_image(name, "1.png", "6 x 20", 8));
  EXPECT_EQ(taken({.preset = data::Preset::unit}),
            errors::images_of_other_size(
                name, "6 x 20 pixels", "8 x 8, which network 'g' takes",
                "set --resize 8 --crop 8 (short side, then center) or --size 8x8 (changes the aspect ratio)"));
}

TEST(Errors, ArraysOfARun) {
  const Model model = linear("x: f32[?, 6]");
  const auto ran = [&](const Tensors& inputs) { return diagnostic_of([&] { run(model, inputs, {}, {}); }); };
  const Tensor x(DType::f32, {1, 6});
  EXPECT_EQ(ran({}), errors::input_missing("inputs", "x", "f32[?, 6]", "network 'g'", ""));
  EXPECT_EQ(ran({{"x", x}, {"z", x}}), errors::no_input_of_network("inputs", "z", "network 'g'", "; there is x"));
  EXPECT_EQ(ran({{"x", Tensor(DType::f32, {1, 7})}}),
            errors::input_of_other_type("inputs", "x", "g", "f32[1, 7]", "f32[?, 6]"));
  EXPECT_EQ(diagnostic_of([&] {
              compare({{"y", x}, {"u", x}}, Tensors{{"long", x}}, Tolerance{});
            }),
            errors::no_output_of_network("long", "; there are u, y"));
  EXPECT_EQ(diagnostic_of([] { require_tensor_file("out.txt"); }),
            errors::wrong_extension("out.txt", ".txt", ".safetensors or .npz"));
}

TEST(Errors, TestData) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string(), set = (folder / "test_data_set_0").string();
  formats::Summary summary;
  EXPECT_EQ(diagnostic_of([&] { read_test_data(folder.path(), summary); }),
            errors::test_data_missing(path, "a folder test_data_set_*"));
  std::filesystem::create_directories(set);
  EXPECT_EQ(diagnostic_of([&] { read_test_data(folder.path(), summary); }),
            errors::test_data_missing(set, "files output_*.pb"));
  io::write_file(set + "/input_0.pb", std::string_view("x"));
  summary.inputs.push_back({"words", "sequence", {}, false});
  EXPECT_EQ(diagnostic_of([&] { read_test_data(folder.path(), summary); }),
            errors::value_not_a_tensor(set + "/input_0.pb", "words", "sequence"));
  io::write_file(folder / "tolerance.json", std::string_view(R"({"rtol": "small"})"));
  EXPECT_EQ(diagnostic_of([&] { read_tolerance(folder.path(), {}); }),
            errors::tolerance_not_a_number((folder / "tolerance.json").string(), "rtol", "\"small\""));
}

TEST(Errors, Platforms) {
  const Platform platform = quant::load_platform("magik_t40");
  EXPECT_EQ(diagnostic_of([&] { new_platform("my chip", platform); }), errors::platform_name_wrong("my chip"));
  EXPECT_EQ(diagnostic_of([&] { new_platform("magik_t40", platform); }), errors::platform_name_taken("magik_t40"));
  EXPECT_EQ(diagnostic_of([&] { inspect_target(prepared(), {.platform = platform}); }),
            errors::prepared_for_other_platform("digits", "generic_int8", "magik_t40"));
  const TemporaryFolder folder;
  EXPECT_EQ(name_of([&] { export_deploy(prepared(), {folder.path()}); }), "platform_without_files");
}

TEST(Errors, DumpsAndComparisons) {
  const auto dumped = [](const DumpOptions& options) {
    return diagnostic_of([&] { values_of(integer(), digits(), options, {}); });
  };
  EXPECT_EQ(dumped({.layers = {"cnv4"}}), errors::no_layer_to_dump("cnv4", ", did you mean 'conv4'?"));
  EXPECT_EQ(dumped({.layout = {.border = {{1, 2, 99}}}}), errors::wrong_border("1, 2, 99"));
  const TemporaryFolder folder;
  const auto side = [&](const std::string& name) {
    const auto other = folder / "other.npz";
    io::write_npz(other, {{"x", Tensor(DType::f32, {1})}});
    return diagnostic_of([&] { compare(folder / name, other); });
  };
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  EXPECT_EQ(side("none"), errors::no_such_side(path("none")));
  io::write_npz(folder / "empty.npz", {});
  EXPECT_EQ(side("empty.npz"), errors::file_without_arrays(path("empty.npz")));
  io::write_file(folder / "conv9.bin", std::string_view("abc"));
  EXPECT_EQ(side("conv9.bin"), errors::bare_values(path("conv9.bin")));
  save(network(), folder / "network");
  EXPECT_EQ(side("network"), errors::no_samples_to_compare(path("network")));
}

TEST(Errors, RealValuesOfCodesWithoutAScale) {
  const Model float_network = train::initialize(
      parse("graph g(x: f32[?, 6]) {\n  param @w: f32[5, 6]\n  y = linear(x, w=@w)\n  best = arg_max(x=y) {axis: 1}\n"
            "  return y, best\n}\n",
            "g.ir"),
      1);
  const Model codes = convert(quantize(float_network, quant::load_platform("generic_int8"), numbers(), {}, {}).model,
                              {.float_fallback = true})
                          .model;
  EXPECT_EQ(diagnostic_of([&] { values_of(codes, numbers(), {.floats = true}, {}); }),
            errors::value_without_scale("best"));
}

TEST(Errors, EnginesOfVerify) {
  const auto verified = [](const VerifyOptions& options) {
    return diagnostic_of([&] { verify(prepared(), integer(), digits(), options, {}); });
  };
  EXPECT_EQ(verified({.variants = true}),
            errors::option_of_other_engine("nothing", "onnxruntime", "its files and variants"));
  EXPECT_EQ(verified({.backend = VerifyBackend::onnxruntime, .c = {.c_folder = "x"}}),
            errors::option_of_other_engine("'onnxruntime'", "c", "a program in C"));
}

/// Writes a shell script to a file and returns the command that runs it.
std::string script(const TemporaryFolder& folder, const std::string& name, const std::string& lines) {
  io::write_file(folder / name, "#!/bin/sh\n" + lines + "\n");
  std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  return (folder / name).string();
}

TEST(Errors, ProgramsInC) {
  const TemporaryFolder folder;
  verify::ExecutionPaths paths = paths_of(prepared(), integer());
  const auto made = [&](const CProgramOptions& options) { return diagnostic_of([&] { add_c(paths, options); }); };
  EXPECT_EQ(made({.compiler = ""}), errors::no_c_compiler());
  const Diagnostic failed = made({.compiler = script(folder, "cc_fails", "echo oh no >&2; exit 3")});
  EXPECT_EQ(failed.entry, &errors::c_command_failed_entry);
  EXPECT_EQ(failed.found, "exit code 3, with the output \noh no");
  EXPECT_EQ(made({.compiler = script(folder, "cc_hangs", "exec sleep 60"), .time_limit = 0.5}).entry,
            &errors::c_command_late_entry);
  EXPECT_EQ(made({.c_folder = folder / "none"}),
            errors::c_folder_unreadable((folder / "none").string(), "no such file or directory"));
  EXPECT_EQ(made({.c_folder = folder.path()}), errors::not_one_c_program(folder.path().string(), 0));
  export_c(integer(), folder.path(), {.name = "net"});
  EXPECT_EQ(made({.c_folder = folder.path()}), errors::c_program_without_layers((folder / "net.h").string()));
  EXPECT_EQ(diagnostic_of([&] { export_c(integer(), folder.path(), {.name = "net"}); }),
            errors::file_not_replaced((folder / "net.h").string(), "folder"));
  EXPECT_EQ(diagnostic_of([&] { export_c(integer(), folder.path(), {.name = "other", .main = true}); }),
            errors::no_samples_kept("digits"));
}

TEST(Errors, AnswersOfProgramsInC) {
  const TemporaryFolder folder;
  const std::string compiler = script(folder, "cc_makes_nothing", "exit 0");
  const auto answered = [&](const std::string& lines, const Tensors& inputs) {
    verify::ExecutionPaths paths = paths_of(prepared(), integer());
    add_c(paths, {.compiler = compiler, .runner = script(folder, "runner", "cat > /dev/null\n" + lines)});
    return diagnostic_of([&] { paths.engine(inputs); });
  };
  const Tensors inputs = {{"x", Tensor(DType::f32, {3, 1, 8, 8})}};
  EXPECT_EQ(answered("", {}), errors::c_program_reads_no_sample());
  EXPECT_EQ(answered("", inputs).entry, &errors::c_answer_incomplete_entry);
  EXPECT_EQ(answered(R"(printf '\005\000\000\000ab')", inputs),
            errors::c_answer_incomplete("the end at byte 4, within a layer", "complete layers"));
  EXPECT_EQ(answered(R"(printf '\001\000\000\000z\007\000\000\000\001\000\000\000')", inputs),
            errors::c_layer_of_other_type("z", 7, 1, "a layer of the network"));
}

TEST(Errors, APreparedNetworkThatIsAnother) {
  const auto parts = parts_for(prepared(), digits());
  ThreadPool pool(1);
  Model changed = clone(prepared());
  changed.tensors.at("conv1.w").data<float>()[0] += 1;
  EXPECT_EQ(diagnostic_of([&] { require_same_floats(changed, parts.train, pool); }),
            errors::prepared_structure_differs("digits", "has other tensors"));
}

TEST(Errors, LoopsAndGradients) {
  EXPECT_EQ(diagnostic_of([] { iteration_watch("train", -1, {}); }), errors::negative_count("max iterations", -1));
  const OpInfo& pool = require_operator("max_pool", "test");
  const Attributes attributes = complete_attributes(pool, {{"kernel", std::vector<int64_t>{1, 1}}}, "test");
  const Tensor x(DType::f32, {1, 1, 2, 2});
  const std::vector<Tensor> seeds = {x, x};
  EXPECT_EQ(diagnostic_of([&] { gradient(pool, attributes, std::span(&x, 1), seeds, {true}); }),
            errors::gradient_of_absent_result("max_pool", "indices"));
}

}  // namespace
}  // namespace halfstep::api
