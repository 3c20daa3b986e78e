// Attention networks in C, compared with the integer program.
#include <gtest/gtest.h>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/formats/c/c_program.h"
#include "halfstep/formats/c/errors.h"
#include "tests/equivalence/c_backend.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::test {
namespace {

using Overrides = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kAttention = HALFSTEP_SOURCE_DIR "/tests/equivalence/attention.ir";

/// Rows, products, means and repeated operands along image axes, which C stores channels last, and matrices that are
/// read transposed.
constexpr const char* kImages = R"(graph images(x: f32[?, $channels, $height, $width]) {
  param @w1: f32[8, $channels, 3, 3]
  param @w2: f32[8, 8, 1, 1]
  param @place: f32[1, 8, 8, 8]
  param @channel: f32[8, 1, 1]
  param @number: f32[1]
  param @norm.scale: f32[8]
  param @norm.bias: f32[8]
  param @head.w: f32[$classes, 64]
  param @head.b: f32[$classes]
  conv = conv2d(x, w=@w1) {pad: [1, 1, 1, 1]}
  placed = add(a=conv, b=@place)
  raised = add(a=@channel, b=placed)
  shares = softmax(raised) {axis: 1}
  rows = softmax(raised) {axis: 2, flattened: true}
  norm = layer_norm(placed, scale=@norm.scale, bias=@norm.bias)
  product = matmul(norm, b=shares) {transpose_a: true}
  other = matmul(product, b=rows) {transpose_b: true}
  next = conv2d(other, w=@w2)
  mean = reduce_mean(next) {axes: [1, 3], keep_dims: true}
  scaled = mul(a=mean, b=next)
  halved = mul(a=scaled, b=@number)
  lines = reduce_mean(halved) {axes: [2]}
  tokens = reshape(lines) {dims: [0, 1, 8, 8]}
  moved = transpose(tokens) {perm: [1, 2, 0, 3]}
  back = transpose(moved) {perm: [2, 0, 1, 3]}
  flat = flatten(back)
  head = linear(x=flat, w=@head.w, b=@head.b)
  return logits = head
})";

/// `text` without the operators that multiply by numbers other than powers of two.
std::string without_norm(std::string text) {
  const std::string norm = "layer_norm(placed, scale=@norm.scale, bias=@norm.bias)";
  text.replace(text.find(norm), norm.size(), "relu(placed)");
  for (const std::string parameter : {"  param @norm.scale: f32[8]\n", "  param @norm.bias: f32[8]\n"})
    text.erase(text.find(parameter), parameter.size());
  return text;
}

/// Sums and products of repeated operands, in every form.
constexpr const char* kRepeats = R"(graph repeats(x: f32[?, $channels, $height, $width]) {
  param @w1: f32[8, $channels, 3, 3]
  param @w2: f32[8, 8, 1, 1]
  param @head.w: f32[$classes, 512]
  param @head.b: f32[$classes]
  conv = conv2d(x, w=@w1) {pad: [1, 1, 1, 1]}
  mean = global_avg_pool(conv)
  gate = conv2d(mean, w=@w2)
  sum = add(a=conv, b=gate)
  product = mul(a=gate, b=sum)
  flat = flatten(product)
  head = linear(x=flat, w=@head.w, b=@head.b)
  return logits = head
})";

class CAttention : public CBackend {
 protected:
  /// Converts on a platform and expects no difference in C, under the sanitizer.
  static void expect_equal_in_c_on(const std::string& platform, const std::string& network,
                                   const Overrides& overrides = {}, quant::PrepareOptions bits = {}) {
    const TemporaryFolder folder;
    io::write_file(folder / "network.ir", std::string_view(network));
    Prepared prepared(platform, bits, overrides, (folder / "network.ir").string());
    expect_equal_in_c(prepared, with_compiler(kSanitized));
  }
};

// A4.5, A5.9
TEST_F(CAttention, HasTheCodesOfTheIntegersInEveryRounding) {
  for (const char* rounding : {"half_up", "half_even", "half_away", "truncate", "doubled"}) {
    SCOPED_TRACE(rounding);
    const Overrides overrides = {{"requantize.rounding", rounding}, {"activations.legal_bits", "[8, 16]"}};
    for (const int bits : {8, 16}) {
      Prepared prepared("generic_int8", bit_widths(8, bits), overrides, kAttention);
      expect_equal_in_c(prepared, with_compiler(kSanitized));
    }
  }
}

// A5.9, A7.1
TEST_F(CAttention, HasTheCodesOfOtherBitWidths) {
  Prepared narrow("generic_int8", bit_widths(4, 4), {}, kAttention);
  expect_equal_in_c(narrow, with_compiler(kSanitized));
  expect_equal_in_c_on("generic_int8", kImages, {{"activations.legal_bits", "[8, 16]"}}, bit_widths(8, 16));
}

// A7.1
TEST_F(CAttention, TakesRowsOfImages) {
  expect_equal_in_c_on("generic_int8", kImages);
  for (const char* platform : {"pow2_int8", "signed_pow2_int8"}) {
    SCOPED_TRACE(platform);
    expect_equal_in_c_on(platform, without_norm(kImages));
    expect_equal_in_c_on(platform, without_norm(kImages), {{"activations.legal_bits", "[8, 16]"}}, bit_widths(8, 16));
  }
}

// A7.1
TEST_F(CAttention, RepeatsOperandsInEveryForm) {
  for (const char* platform :
       {"generic_int8", "pow2_int8", "signed_pow2_int8", "onnxruntime_int8", "pytorch_fbgemm", "pytorch_x86"}) {
    SCOPED_TRACE(platform);
    expect_equal_in_c_on(platform, kRepeats);
  }
  expect_equal_in_c_on("generic_int8", kRepeats, {{"activations.legal_bits", "[8, 16]"}}, bit_widths(8, 16));
}

// A5.9, A7.1
TEST_F(CAttention, HasTheSameCodesOnEveryMachine) {
  const auto machines = other_machines();
  if (machines.empty()) GTEST_SKIP() << "there is no compiler for another machine with an emulator of it";
  Prepared prepared("generic_int8", {}, {}, kAttention);
  Prepared wide("generic_int8", bit_widths(8, 16), {{"activations.legal_bits", "[8, 16]"}}, kAttention);
  for (const api::CProgramOptions& machine : machines) {
    SCOPED_TRACE(machine.runner.value_or(""));
    expect_equal_in_c(prepared, machine);
    expect_equal_in_c(wide, machine);
  }
}

/// Only programs that need it multiply in parts.
TEST_F(CAttention, MultipliesInPartsWhereSumsPassTheirLimitAlone) {
  const TemporaryFolder folder;
  io::write_file(folder / "network.ir", std::string_view(without_norm(kImages)));
  for (const auto& [platform, bits, in_parts] : {std::tuple{"generic_int8", 8, false},
                                                 {"generic_int8", 16, true},
                                                 {"signed_pow2_int8", 8, false},
                                                 {"signed_pow2_int8", 16, true}}) {
    Prepared prepared(platform, bit_widths(8, bits), {{"activations.legal_bits", "[8, 16]"}},
                      (folder / "network.ir").string());
    const Model integer = api::convert(prepared.model).model;
    const std::string text = formats::c::c_program(integer, {.name = "net"}).files[1].text;
    EXPECT_EQ(text.find("parts_half_up(") != std::string::npos, in_parts) << platform << " " << bits;
  }
}

TEST_F(CAttention, NormsInFloatAreRefusedByName) {
  Prepared prepared("generic_int8", {}, {{"in_float", "[layer_norm, rms_norm]"}}, kAttention);
  const Model integer = api::convert(prepared.model, {.float_fallback = true}).model;
  const TemporaryFolder folder;
  const auto refused =
      diagnostics_of([&] { api::export_c(integer, folder.path(), {.name = "net", .float_fallback = true}); });
  for (const auto& [layer, form] : {std::pair("norm", "layer_norm"), {"root", "rms_norm"}}) {
    const auto is_it = [&](const Diagnostic& one) {
      return one == placed(errors::no_c_form(one.where, form), layer, "");
    };
    EXPECT_TRUE(std::ranges::any_of(refused, is_it)) << layer;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace halfstep::test
