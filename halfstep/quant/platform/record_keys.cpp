#include "halfstep/quant/platform/record_keys.h"

#include <algorithm>
#include <iterator>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/arith/rounding.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/quant/platform/insertion_rules.h"
#include "halfstep/quant/platform/legal_rules.h"
#include "halfstep/quant/platform/observers.h"

namespace halfstep::quant {
namespace {

using enum ValueKind;
using Names = std::vector<std::string>;

Names requantizations() {
  Names names;
  for (const auto& form : arith::kRequantizations) names.emplace_back(form.name);
  return names;
}

const Names kObservers = observer_names();

RecordKey quantizer_key(const char* side, const char* start, const char* example, bool QuantizerTraits::*can) {
  Names kinds;
  for (const QuantizerTraits& one : quantizer_kinds()) {
    if (one.*can) kinds.emplace_back(one.name);
  }
  return {std::string(side) + ".quantizer",
          text,
          std::string(start) + "ow quantizers train, for all bit widths; absent: lsq or fixed, as low_bits selects.",
          example,
          {.choices = kinds},
          ""};
}

std::vector<RecordKey> value_keys() {
  return {
      {"base",
       text,
       "The platform that this one extends. It supplies the keys that this one omits: mappings are merged key by key, "
       "lists are replaced.",
       "tensorrt",
       {.such = "a built-in platform, or the path of a record relative to this one"},
       ""},
      {"platform", text, "The name of the platform in reports and messages.", "mychip"},
      {"doc", text, "A description of the chip, and the source of the record's facts.", "A shift-only accelerator."},
      {"weights", mapping, "The weights of layers."},
      {"weights.bits", integer, "Default bits of weights.", "8", {.least = 2, .most = 8}},
      {"weights.legal_bits", integers, "All bit widths that weights can have.", "[4, 8]", {.least = 2, .most = 8}},
      {"weights.granularity",
       text,
       "Scales of weights: one for each output channel, or one for the tensor.",
       "tensor",
       {.choices = {"channel", "tensor"}}},
      {"weights.zero_points",
       text,
       "The code of the value 0: always 0, with as many codes below as above (symmetric) or with all codes (centered), "
       "or any code (affine; such layers compute in float).",
       "centered",
       {.choices = {"symmetric", "centered", "affine"}},
       "symmetric"},
      {"weights.observer",
       text,
       "The method that finds the range of weights; docs/arithmetic.md, section 3, has the rules.",
       "mse",
       {.choices = kObservers}},
      quantizer_key("weights", "For weights: h", "adaround", &QuantizerTraits::of_weights),
      {"activations", mapping, "The activations of the network, including its inputs."},
      {"activations.bits", integer, "Default bits of activations.", "8", {.least = 2, .most = 16}},
      {"activations.legal_bits",
       integers,
       "All bit widths that activations can have.",
       "[4, 8]",
       {.least = 2, .most = 16}},
      {"activations.codes",
       text,
       "Codes of activations: from 0 on (unsigned), or on both sides of 0 (signed).",
       "signed",
       {.choices = {"unsigned", "signed"}},
       "unsigned"},
      {"activations.zero_points",
       text,
       "The code of the value 0: any code (affine), the lowest or the middle code (offset), or always 0, with as many "
       "codes below as above (symmetric) or with all codes (centered). The last two need signed codes.",
       "offset",
       {.choices = {"affine", "offset", "symmetric", "centered"}}},
      {"activations.observer",
       text,
       "The method that finds the range of activations; ema_ methods update it with each batch.",
       "ema_mse",
       {.choices = kObservers}},
      quantizer_key("activations", "H", "pact", &QuantizerTraits::of_activations),
      {"activations.rate",
       number,
       "The weight of a new batch in the range of an activation (ema_ methods).",
       "0.1",
       {.least = 1e-6, .most = 1}}};
}

std::vector<RecordKey> arithmetic_keys() {
  return {
      {"low_bits", mapping, "Settings for quantizers of few bits."},
      {"low_bits.below",
       integer,
       "Quantizers with fewer bits use the next two keys; 0: no quantizer does.",
       "5",
       {.least = 0, .most = 17}},
      {"low_bits.observer",
       text,
       "The method that finds the range of such a quantizer; absent: the method of the others.",
       "ema_mse",
       {.choices = kObservers},
       ""},
      {"low_bits.learned", boolean, "Whether its scale is learned in training (LSQ).", "false"},
      {"first_and_last",
       mapping,
       "Settings for the first and last layers with weights, and for the network's inputs; absent: none.",
       "",
       {},
       ""},
      {"first_and_last.bits", integer, "Default bits of the first and last layers.", "8", {.least = 2, .most = 8}},
      {"first_and_last.first",
       integer,
       "Number of layers with weights that count as first.",
       "2",
       {.least = 0, .most = 1000},
       "1"},
      {"first_and_last.last",
       integer,
       "Number of layers with weights that count as last.",
       "2",
       {.least = 0, .most = 1000},
       "1"},
      {"power_of_two", boolean, "Whether all scales are powers of two.", "true"},
      {"requantize", mapping, "How the sum of a layer becomes a code; see docs/arithmetic.md, section 4."},
      {"requantize.form",
       text,
       "A multiplier and a shift, only a shift (needs power_of_two), the float32 of onnxruntime, or the arithmetic "
       "of PyTorch's engines.",
       "fixed_point",
       {.choices = requantizations()}},
      {"requantize.multiplier_bits",
       integer,
       "Bits of the multiplier; for power_of_two, the number of bits that the shifts of a sum's operands may span; "
       "31 for forms without either.",
       "15",
       {.least = 15, .most = 31}},
      {"requantize.average_bits",
       integer,
       "For power_of_two: bits of the integer n by which an average multiplies its sum before it shifts. 0: averages "
       "only shift, so their windows hold a power of two of elements.",
       "8",
       {.least = 0, .most = 15},
       "0"},
      {"requantize.rounding",
       text,
       "How a shift rounds the bits that it removes; doubled: in two steps, like a doubled product of 32 bits.",
       "half_even",
       {.choices = {std::begin(arith::kShiftRoundings), std::end(arith::kShiftRoundings)}},
       "half_up"},
      {"rounding", mapping, "How a real value becomes a code; see docs/arithmetic.md, section 2."},
      {"rounding.method",
       text,
       "Divide a real value by its scale, or multiply it by the scale's reciprocal.",
       "reciprocal",
       {.choices = {"divide", "reciprocal"}}},
      {"rounding.mode",
       text,
       "How a value halfway between two codes is rounded: to the even code, away from 0, or up.",
       "half_up",
       {.choices = {"half_even", "half_away", "half_up"}}}};
}

std::vector<RecordKey> observer_keys() {
  return {
      {"observers", mapping, "Parameters of observers.", "", {}, ""},
      {"observers.candidates", integer, "mse: number of ranges that are tried.", "80", {.least = 1, .most = 128}, "64"},
      {"observers.steps",
       integer,
       "mse: range i, counted from 0, is the range of the extremes times 1 - i / steps.",
       "100",
       {.least = 1, .most = 1e6},
       "80"},
      {"observers.power",
       number,
       "mse: the exponent of the errors in the sum.",
       "2.4",
       {.least = 0.1, .most = 16},
       "2"},
      {"observers.share",
       number,
       "quantile, percentile: the fraction of elements inside the range at either end.",
       "0.999",
       {.least = 0.51, .most = 1},
       "0.99999"},
      {"observers.bins",
       integer,
       "quantile: number of bins for magnitudes.",
       "4096",
       {.least = 1, .most = 1 << 20},
       "2048"},
      {"observers.deviations",
       number,
       "clip_std, widen_std: number of standard deviations around the mean.",
       "3",
       {.least = 0.01, .most = 1000},
       "2.6"},
      {"observers.nearest_power",
       boolean,
       "Whether scales are rounded to the nearest power of two, which may clip, instead of up.",
       "true",
       {},
       "false"}};
}

std::vector<RecordKey> quantizer_keys() {
  return {
      {"quantizers", mapping, "Parameters of quantizers.", "", {}, ""},
      {"quantizers.softness",
       number,
       "dsq: distance of the ends of a soft step from its levels, as a fraction of the distance between two levels.",
       "0.2",
       {.least = 0.01, .most = 0.49},
       "0.4"},
      {"quantizers.keep",
       number,
       "qdrop: fraction of elements that training quantizes.",
       "0.75",
       {.least = 0.01, .most = 1},
       "0.5"}};
}

std::string listed(const Names& all) {
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : ", ") + one;
  return text;
}

std::vector<RecordKey> rule_keys() {
  const Names traits = {"weighted", "accumulates", "pointwise", "preserves_range", "same_scale"};
  return {
      {"share_scales",
       names,
       "Operators that need one scale for all their inputs. Operators that only move codes, such as concat, always do.",
       "[concat, add]",
       {.such = "operators that read several values of codes"}},
      {"keep_scales",
       names,
       "Operators whose result has the scale of their input.",
       "[avg_pool2d]",
       {.such = "operators on codes whose result has its own scale"},
       "[]"},
      {"in_float",
       names,
       "Operators that the chip computes in float, between codes.",
       "[softmax, layer_norm]",
       {.such = "operators that can have codes"},
       "[]"},
      {"deploy",
       names,
       "Files that `export --format deploy` writes for the tools of the chip; docs/guides/export_vendor_files.md lists "
       "them.",
       "[float_model, tensorrt_ranges]",
       {.such = "files for tools: " + listed(deploy_formats())},
       "[]"},
      {"fused_activations", mapping, "Activation functions that are fused into the operator before them."},
      {"fused_activations.weighted",
       names,
       "Activation functions that operators with weights can fuse.",
       "[relu, relu6]",
       {.such = "activation functions that such operators can fuse"}},
      {"fused_activations.accumulates",
       names,
       "Activation functions that sums, products and pools can fuse.",
       "[relu]",
       {.such = "activation functions that such operators can fuse"}},
      {"channels", mapping, "Constraints on the channels of convolutions; --pad-channels adds zeros to satisfy them."},
      {"channels.multiple",
       integer,
       "The number of channels must be a multiple of this; 1: any number, and channels.above has no effect.",
       "16",
       {.least = 1, .most = 4096}},
      {"channels.above",
       integer,
       "Convolutions with at most this many input channels may have any number of channels.",
       "3",
       {.least = 0, .most = 65536}},
      {"legal", mappings,
       "Rules for kinds of operators, in addition to the general bit widths. The first rule that selects an operator "
       "applies."},
      {"legal.op",
       text,
       "The operator that the rule selects.",
       "conv2d",
       {.such = "an operator that can have codes"},
       ""},
      {"legal.trait", text, "Or the kind of the operators that the rule selects.", "weighted", {.choices = traits}, ""},
      {"legal.where",
       text,
       "Only depthwise layers (a group for each channel), layers with groups (including depthwise layers), or the "
       "first or last layer with weights.",
       "depthwise",
       {.choices = layer_properties()},
       ""},
      {"legal.kernel_above",
       integer,
       "Only operators whose window has a side longer than this.",
       "7",
       {.least = 1, .most = 65536},
       ""},
      {"legal.stride_above", integer, "Only operators with a stride above this.", "2", {.least = 1, .most = 65536}, ""},
      {"legal.inputs_above",
       integer,
       "Only operators with more inputs than this.",
       "8",
       {.least = 1, .most = 65536},
       ""},
      {"legal.reads",
       integers,
       "Only operators whose inputs all have codes of these bit widths.",
       "[4]",
       {.least = 2, .most = 16},
       ""},
      {"legal.activations", integers, "Legal bit widths of inputs and results.", "[8]", {.least = 2, .most = 16}, ""},
      {"legal.gives", integers, "Legal bit widths of results.", "[4, 8]", {.least = 2, .most = 16}, ""},
      {"legal.weights", integers, "Legal bit widths of weights.", "[8]", {.least = 2, .most = 8}, ""},
      {"legal.refused", boolean, "Whether the chip lacks the operator.", "true", {}, ""},
      {"legal.reason", text, "The reason, for messages.", "the depthwise unit has 8-bit weights"}};
}

std::vector<RecordKey> dump_keys() {
  return {{"dump",
           mapping,
           "The layout of the values that `dump` writes, for comparison with the chip's memory or tools.",
           "",
           {},
           ""},
          {"dump.order",
           text,
           "The order of elements in a sample; ndhwcB: blocks of B channels, filled with 0 after the last channel.",
           "ndhwc32",
           {.choices = {"nchw", "nhwc", "ndhwc4", "ndhwc8", "ndhwc16", "ndhwc32", "ndhwc64"}},
           "nhwc"},
          {"dump.packing",
           text,
           "Codes of at most 4 bits: one in each byte, or two, with the first in the low or in the high half.",
           "low_first",
           {.choices = {"none", "low_first", "high_first"}},
           "none"},
          {"dump.offset",
           boolean,
           "Whether the top bit of codes is flipped (unsigned codes minus 128).",
           "true",
           {},
           "false"},
          {"dump.border", mapping, "A border around each image, filled with the code of 0.", "", {}, ""},
          {"dump.border.above", integer, "Number of rows above.", "1", {.least = 0, .most = 64}, "0"},
          {"dump.border.below", integer, "Number of rows below.", "1", {.least = 0, .most = 64}, "0"},
          {"dump.border.left", integer, "Number of columns on the left.", "1", {.least = 0, .most = 64}, "0"},
          {"dump.border.right", integer, "Number of columns on the right.", "1", {.least = 0, .most = 64}, "0"}};
}

RecordKey kinds_key(const char* name, const char* doc, const char* example, const char* such = "kinds of operators") {
  return {std::string("insert.") + name, names, doc, example, {.such = such}, "[]"};
}

RecordKey ends_key(const char* name, const char* doc) {
  return {std::string("insert.") + name, text, doc, "always", {.choices = {"asked", "always", "never"}}, "asked"};
}

std::vector<RecordKey> insertion_keys() {
  return {
      {"insert",
       mapping,
       "Rules for the values with quantizers, by kinds of operators; absent: all inputs and results of operators on "
       "codes.",
       "",
       {},
       ""},
      kinds_key("asks", "Operators whose inputs have quantizers.", "[conv2d, linear, add]"),
      kinds_key("gives", "Operators whose results have quantizers.", "[conv2d, linear]"),
      kinds_key("passes", "If one of these follows an operator in gives, the quantizer is placed after it instead.",
                "[relu]"),
      kinds_key("skips", "Operators whose results never have quantizers, even if a reader is in asks.", "[concat]"),
      kinds_key("fuses", "Activation functions that are fused into the layer with weights before them.", "[relu]",
                "activation functions that a layer can fuse"),
      kinds_key("weights", "Layers whose weights have quantizers.", "[conv2d, linear]", "operators that store weights"),
      {"insert.merges",
       mappings,
       "Pairs of operators that are one operator, without a quantizer between them.",
       "[{of: mul, into: add}]",
       {},
       "[]"},
      {"insert.merges.of", text, "The first operator.", "mul", {.such = "a kind of operator"}},
      {"insert.merges.into",
       text,
       "The second operator, which reads the result of the first.",
       "add",
       {.such = "a kind of operator"}},
      {"insert.propagates", mapping, "Ranges that are propagated from an earlier value.", "", {}, ""},
      kinds_key("propagates.through", "Results of these operators have no quantizer ...", "[max_pool2d]"),
      kinds_key("propagates.to", "... if one of these operators reads them.", "[conv2d]"),
      kinds_key("unsigned_behind", "With signed activations: operators whose results have codes from 0 on.", "[relu]"),
      kinds_key("sign_of_inputs", "Operators whose results have codes from 0 on if all their inputs do.",
                "[max_pool2d]"),
      ends_key("inputs", "Whether the network's inputs have quantizers: if an operator asks, always or never."),
      ends_key("outputs", "Whether the network's outputs have quantizers: if an operator asks, always or never."),
      {"insert.as",
       text,
       "The placement where the chip and MQBench differ: the chip's own rules, or those of MQBench with all quirks "
       "(`--insert-as mqbench`).",
       "mqbench",
       {.choices = {"itself", "mqbench"}},
       "itself"},
      {"insert.quirks",
       mappings,
       "Differences of MQBench; the audit lists their positions.",
       "[{quirk: single_output, reason: it looks for one output}]",
       {},
       "[]"},
      {"insert.quirks.quirk",
       text,
       "deconvolutions_alone: no activation function is fused into a transposed convolution without a batch norm; "
       "single_output: if a network has several outputs, none counts as an output; means_apart: a mean over height and "
       "width that drops these axes does not count as global_avg_pool; norms_with_relu: a batch_norm without a layer "
       "and the relu after it are one operator, which is in no list; parts_skipped: a slice or gather never has a "
       "quantizer.",
       "single_output",
       {.choices = quirk_names()}},
      {"insert.quirks.reason", text, "The reason for the difference, for the audit.", "it looks for one output"},
      {"no_integers",
       text,
       "The reason why no integer arithmetic of the chip is known; absent if it is known.",
       "its codes are logarithms",
       {},
       ""}};
}

}  // namespace

const std::vector<std::string>& deploy_formats() {
  static const std::vector<std::string> kFormats = {
      "float_model",    "fake_quantize_model", "qdq_model",       "tensorrt_ranges", "snpe_encodings", "ppl_ranges",
      "pplcuda_ranges", "vitis_scales",        "nnie_parameters", "tengine_scales",  "stpu_ranges"};
  return kFormats;
}

std::span<const RecordKey> platform_keys() {
  static const std::vector<RecordKey> kAll = [] {
    std::vector<RecordKey> keys;
    for (const auto& part : {value_keys(), arithmetic_keys(), observer_keys(), quantizer_keys(), rule_keys(),
                             dump_keys(), insertion_keys()})
      keys.insert(keys.end(), part.begin(), part.end());
    return keys;
  }();
  return kAll;
}

std::vector<const RecordKey*> keys_below(std::span<const RecordKey> keys, std::string_view path) {
  const std::string front = path.empty() ? "" : std::string(path) + ".";
  std::vector<const RecordKey*> below;
  for (const RecordKey& key : keys) {
    if (key.path.starts_with(front) && key.path.find('.', front.size()) == std::string::npos) below.push_back(&key);
  }
  return below;
}

std::string last_name(const RecordKey& key) { return key.path.substr(key.path.rfind('.') + 1); }

}  // namespace halfstep::quant
