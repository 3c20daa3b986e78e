// Model files of earlier versions (README.md tells how they were made). Each one opens, computes the same results, and
// can go on to the next stage.
#include <gtest/gtest.h>

#include <filesystem>

#include "halfstep/core/files/file.h"
#include "halfstep/core/ir/errors.h"
#include "halfstep/halfstep.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

std::filesystem::path sample(const std::string& name) {
  return std::filesystem::path(HALFSTEP_SOURCE_DIR) / "tests/compat" / (name + ".safetensors");
}

Model open(const std::string& name) { return load(sample(name)); }

const Dataset& digits() {
  static const Dataset kDigits = data::digits();
  return kDigits;
}

struct Sample {
  const char* name;
  Stage stage;
  int right;  ///< correct answers on the 359 digits of the test part
};

constexpr Sample kSamples[] = {
    {"float", Stage::float_network, 340},
    {"generic_int8_prepared", Stage::prepared, 340},
    {"generic_int8_trained", Stage::prepared, 340},
    {"generic_int8_integer", Stage::integer, 340},
    {"onnxruntime_int8_prepared", Stage::prepared, 339},
    {"onnxruntime_int8_integer", Stage::integer, 339},
    {"pact_prepared", Stage::prepared, 332},
    {"pact_trained", Stage::prepared, 332},
    {"pact_integer", Stage::integer, 332},
    {"pow2_int8_prepared", Stage::prepared, 341},
    {"pow2_int8_trained", Stage::prepared, 341},
    {"pow2_int8_integer", Stage::integer, 341},
    {"pow2_int8_checkpoint", Stage::prepared, 340},
    {"tensorrt_prepared", Stage::prepared, 340},
    {"v3_prepared", Stage::prepared, 336},
    {"v3_trained", Stage::prepared, 336},
    {"v3_integer", Stage::integer, 336},
};

TEST(EarlierFiles, OpenAndComputeWhatTheyComputed) {
  for (const Sample& one : kSamples) {
    const Model model = open(one.name);
    EXPECT_EQ(name(stage_of(model)), name(one.stage)) << one.name;
    const EvaluateResult found = evaluate(model, digits(), {}, {});
    EXPECT_EQ(found.samples, 359);
    EXPECT_EQ(found.accuracy, one.right / 359.0) << one.name << ": " << found.accuracy * 359;
  }
}

struct Pair {
  const char *prepared, *integer, *platform;
};

constexpr Pair kPairs[] = {
    {"generic_int8_trained", "generic_int8_integer", "generic_int8"},
    {"onnxruntime_int8_prepared", "onnxruntime_int8_integer", "onnxruntime_int8"},
    {"pact_trained", "pact_integer", "generic_int8"},
    {"pow2_int8_trained", "pow2_int8_integer", "pow2_int8"},
    {"v3_trained", "v3_integer", "generic_int8"},
};

TEST(EarlierFiles, AreProvedEqual) {
  for (const Pair& one : kPairs) {
    const Model prepared = open(one.prepared);
    EXPECT_EQ(quant::platform_of(prepared).name, one.platform);
    EXPECT_TRUE(verify(prepared, open(one.integer), digits(), {}, {}).equal()) << one.prepared;
  }
}

/// No program was kept beside this file.
TEST(EarlierFiles, ThePlacementOfMQBenchConvertsToAnEqualProgram) {
  const Model prepared = open("tensorrt_prepared");
  EXPECT_EQ(quant::platform_of(prepared).name, "tensorrt");
  const verify::VerifyReport report =
      verify(prepared, convert(prepared, {.float_fallback = true}).model, digits(), {}, {});
  EXPECT_TRUE(report.equal());
  EXPECT_FALSE(report.layers.empty());
}

/// The data in a Model decides the program: an earlier file converts to the same program as it did then.
TEST(EarlierFiles, ConvertToTheProgramsOfThen) {
  for (const Pair& one : kPairs) {
    const Model made = convert(open(one.prepared), {.float_fallback = true}).model;
    EXPECT_EQ(serialize(made), serialize(open(one.integer))) << one.prepared;
  }
}

struct Checkpoint {
  const char *file, *start, *end;
  std::optional<int64_t> samples;
};

constexpr Checkpoint kCheckpoints[] = {
    {"pow2_int8_checkpoint", "pow2_int8_prepared", "pow2_int8_trained", std::nullopt},
    {"v3_checkpoint", "v3_prepared", "v3_trained", 300},
};

TEST(EarlierFiles, ACheckpointGoesOn) {
  for (const Checkpoint& one : kCheckpoints) {
    SCOPED_TRACE(one.file);
    const test::TemporaryFolder folder;
    std::filesystem::copy(sample(one.file), folder / "checkpoint_0002.safetensors");
    TrainOptions options;
    options.epochs = 4;
    options.learning_rate = 0.02;
    options.folder = folder.path();
    options.resume = true;
    const Dataset samples = one.samples ? data::digits(data::kMaxClasses, {.samples = *one.samples}) : digits();
    const TrainResult trained = train(open(one.start), samples, options, {});
    EXPECT_EQ(trained.first_epoch, 2);
    EXPECT_EQ(trained.digest, digest_hex(open(one.end)));
  }
}

TEST(EarlierFiles, DamagedOnesAreRefused) {
  for (const char* damaged : {"float", "pow2_int8_prepared"}) {
    const std::vector<std::byte> whole = io::read_file(sample(damaged));
    for (const size_t at : {whole.size() / 4, whole.size() - 1}) {
      std::vector<std::byte> bytes = whole;
      bytes[at] ^= std::byte{1};
      EXPECT_EQ(test::diagnostic_of([&] { deserialize(bytes, "m"); }), halfstep::errors::model_checksum("m")) << at;
    }
  }
}

}  // namespace
}  // namespace halfstep::api
