// Verbs on values in memory: no files are written, and each verb accepts the result of the one before it.
#include <gtest/gtest.h>

#include <filesystem>

#include "halfstep/api/errors.h"
#include "halfstep/halfstep.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::api {
namespace {

/// Makes a fresh folder the current one while this object lives.
class EmptyFolder {
 public:
  EmptyFolder() : before_(std::filesystem::current_path()) { std::filesystem::current_path(folder_.path()); }
  ~EmptyFolder() { std::filesystem::current_path(before_); }

  bool still_empty() const { return std::filesystem::is_empty(folder_.path()); }

 private:
  std::filesystem::path before_;
  test::TemporaryFolder folder_;
};

const Dataset& digits() {
  static const Dataset kDigits = data::digits();
  return kDigits;
}

Model trained() {
  return train(create_network("digits", digits(), 0), digits(), {.epochs = 2, .keep_best = false}, {}).model;
}

TEST(InMemory, FromNothingToProvenIntegers) {
  const EmptyFolder folder;
  const Model network = trained();
  const QuantizeResult prepared = quantize(network, quant::load_platform("onnxruntime_int8"), digits(), {}, {});
  const auto integer = convert(prepared.model);
  EXPECT_EQ(stage_of(network), Stage::float_network);
  EXPECT_EQ(stage_of(prepared.model), Stage::prepared);
  EXPECT_EQ(stage_of(integer.model), Stage::integer);

  const auto proof = verify(prepared.model, integer.model, digits(), {}, {});
  EXPECT_TRUE(proof.equal());
  const auto broken = verify(prepared.model, integer.model, digits(), {.inject = "conv2:0"}, {});
  EXPECT_FALSE(broken.equal());

  EXPECT_EQ(evaluate(prepared.model, digits(), {}, {}).accuracy, evaluate(integer.model, digits(), {}, {}).accuracy);
  EXPECT_TRUE(folder.still_empty());
}

TEST(InMemory, ArgumentsStayAsTheyWere) {
  const Model network = trained();
  const std::string before = digest_hex(network);
  const QuantizeResult prepared = quantize(network, quant::load_platform("magik_t40"), digits(), {}, {});
  const std::string prepared_before = digest_hex(prepared.model);
  train(prepared.model, digits(), {.epochs = 1}, {});
  EXPECT_EQ(digest_hex(prepared.model), prepared_before) << "by train";
  convert(prepared.model);
  EXPECT_EQ(digest_hex(prepared.model), prepared_before) << "by convert";
  change_bits(prepared.model, {{.selector = "*", .weights = 4, .activations = {}}});
  EXPECT_EQ(digest_hex(network), before);
  EXPECT_EQ(digest_hex(prepared.model), prepared_before);
}

TEST(InMemory, QuickstartGivesItsNetworks) {
  const EmptyFolder folder;
  QuickstartRequest request;
  request.data = digits();
  request.platform = quant::load_platform("generic_int8");
  request.float_epochs = 2;
  request.tune_epochs = 1;
  const QuickstartResult outcome = quickstart(request, {});
  EXPECT_TRUE(folder.still_empty());
  EXPECT_TRUE(outcome.report.equivalence.equal());
  EXPECT_EQ(outcome.report.weights_digest, digest_hex(outcome.prepared));
  EXPECT_EQ(outcome.report.float_bytes, 0);
  EXPECT_EQ(evaluate(outcome.network, digits(), {}, {}).accuracy, outcome.report.accuracy_float);
  EXPECT_EQ(evaluate(outcome.integer, digits(), {}, {}).accuracy, outcome.report.accuracy_integer);
}

TEST(InMemory, TheWrongStageIsNamed) {
  const Model network = create_network("digits", digits(), 0);

  const Diagnostic expected =
      errors::wrong_stage("network 'digits'", "a float network", "a prepared one", "run quantize first");
  EXPECT_EQ(test::diagnostic_of([&] { convert(network); }), expected);
  EXPECT_EQ(test::diagnostic_of([&] { verify(network, network, digits(), {}, {}); }), expected);
  EXPECT_EQ(test::diagnostic_of([&] { change_bits(network, {}); }), expected);
}

}  // namespace
}  // namespace halfstep::api
