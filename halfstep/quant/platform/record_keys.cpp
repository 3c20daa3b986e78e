#include "halfstep/quant/platform/record_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
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
          std::string(start) + "ow quantizers train, whatever their bits; absent: lsq or fixed, as low_bits says.",
          example,
          {.choices = kinds},
          ""};
}

std::vector<RecordKey> value_keys() {
  return {
      {"base",
       text,
       "A platform that this one builds on, which says what this one leaves out: mappings key by key, lists as a "
       "whole.",
       "tensorrt",
       {.such = "one built in, or the path of a record, seen from this one"},
       ""},
      {"platform", text, "The name that reports and messages give it.", "mychip"},
      {"doc", text, "What the chip is, and where the record's facts come from.", "A shift-only accelerator."},
      {"weights", mapping, "What layers with weights have learned."},
      {"weights.bits", integer, "Bits of a weight where none are asked for.", "8", {.least = 2, .most = 8}},
      {"weights.legal_bits", integers, "All bit_widths that weights can have.", "[4, 8]", {.least = 2, .most = 8}},
      {"weights.granularity",
       text,
       "Whether each output channel has a scale of its own, or a tensor one.",
       "tensor",
       {.choices = {"channel", "tensor"}}},
      {"weights.zero_points",
       text,
       "Which code stands for 0: always 0, of as many codes below as above (symmetric) or of all codes (centered), or "
       "any one (affine; such layers compute in float).",
       "centered",
       {.choices = {"symmetric", "centered", "affine"}},
       "symmetric"},
      {"weights.observer",
       text,
       "How the range of weights is found; section 3 of the arithmetic has the rules.",
       "mse",
       {.choices = kObservers}},
      quantizer_key("weights", "Of weights: h", "adaround", &QuantizerTraits::of_weights),
      {"activations", mapping, "What flows through the network, its inputs included."},
      {"activations.bits", integer, "Bits of an activation where none are asked for.", "8", {.least = 2, .most = 16}},
      {"activations.legal_bits",
       integers,
       "All bit_widths that activations can have.",
       "[4, 8]",
       {.least = 2, .most = 16}},
      {"activations.codes",
       text,
       "Whether codes of activations reach from 0, or around it.",
       "signed",
       {.choices = {"unsigned", "signed"}},
       "unsigned"},
      {"activations.zero_points",
       text,
       "Which code stands for 0: any one (affine), the lowest or the middle one (offset), or always 0, of as many "
       "codes "
       "below as above (symmetric) or of all codes (centered); these two need signed codes.",
       "offset",
       {.choices = {"affine", "offset", "symmetric", "centered"}}},
      {"activations.observer",
       text,
       "The same of activations; those with ema_ follow step by step.",
       "ema_mse",
       {.choices = kObservers}},
      quantizer_key("activations", "H", "pact", &QuantizerTraits::of_activations),
      {"activations.rate",
       number,
       "The share that a new batch has in an activation's range.",
       "0.1",
       {.least = 1e-6, .most = 1}}};
}

std::vector<RecordKey> arithmetic_keys() {
  return {
      {"low_bits", mapping, "Quantizers of few bits, whose scales matter more."},
      {"low_bits.below",
       integer,
       "A quantizer of fewer bits has the two fields that follow; 0: none has.",
       "5",
       {.least = 0, .most = 17}},
      {"low_bits.observer",
       text,
       "How the range of such a quantizer is found; absent: as that of others.",
       "ema_mse",
       {.choices = kObservers},
       ""},
      {"low_bits.learned", boolean, "Whether its scale is learned in training (LSQ).", "false"},
      {"first_and_last",
       mapping,
       "The first and the last layer with weights, and the network's inputs; absent: they are as all others.",
       "",
       {},
       ""},
      {"first_and_last.bits", integer, "Bits of these layers where none are asked for.", "8", {.least = 2, .most = 8}},
      {"first_and_last.first",
       integer,
       "How many layers with weights come first.",
       "2",
       {.least = 0, .most = 1000},
       "1"},
      {"first_and_last.last", integer, "How many layers with weights come last.", "2", {.least = 0, .most = 1000}, "1"},
      {"power_of_two", boolean, "Whether all scales are powers of two.", "true"},
      {"requantize", mapping, "How the sum of a layer becomes a code: section 4 of the arithmetic."},
      {"requantize.form",
       text,
       "A multiplier and a shift, a shift alone (which needs power_of_two), onnxruntime's float32, or what PyTorch's "
       "engines do.",
       "fixed_point",
       {.choices = requantizations()}},
      {"requantize.multiplier_bits",
       integer,
       "Bits of the multiplier; in power_of_two, what the shifts of a sum's operands may span; 31 where the form has "
       "neither.",
       "15",
       {.least = 15, .most = 31}},
      {"requantize.rounding",
       text,
       "How a shift rounds what falls away; doubled: in two steps, as a doubled product of 32 bits does.",
       "half_even",
       {.choices = {std::begin(arith::kShiftRoundings), std::end(arith::kShiftRoundings)}},
       "half_up"},
      {"rounding", mapping, "How a real becomes a code: section 2 of the arithmetic."},
      {"rounding.method",
       text,
       "Whether a real is divided by its scale, or multiplied by the scale's reciprocal.",
       "reciprocal",
       {.choices = {"divide", "reciprocal"}}},
      {"rounding.mode",
       text,
       "Where half a step between two codes goes: to the even one, away from 0, or up.",
       "half_up",
       {.choices = {"half_even", "half_away", "half_up"}}}};
}

std::vector<RecordKey> observer_keys() {
  return {{"observers", mapping, "Numbers that observers have.", "", {}, ""},
          {"observers.candidates", integer, "mse: how many ranges are tried.", "80", {.least = 1, .most = 128}, "64"},
          {"observers.steps",
           integer,
           "mse: range i, from 0 on, is that of the extremes times 1 - i / steps.",
           "100",
           {.least = 1, .most = 1e6},
           "80"},
          {"observers.power",
           number,
           "mse: the power of the errors that are summed.",
           "2.4",
           {.least = 0.1, .most = 16},
           "2"},
          {"observers.share",
           number,
           "quantile, percentile: the share of elements that stay at either end.",
           "0.999",
           {.least = 0.51, .most = 1},
           "0.99999"},
          {"observers.bins", integer, "quantile: bins of magnitudes.", "4096", {.least = 1, .most = 1 << 20}, "2048"},
          {"observers.deviations",
           number,
           "clip_std, widen_std: how many deviations around the mean.",
           "3",
           {.least = 0.01, .most = 1000},
           "2.6"},
          {"observers.nearest_power",
           boolean,
           "Whether powers of two are the nearest ones, which may clip, instead of the next ones up.",
           "true",
           {},
           "false"}};
}

std::vector<RecordKey> quantizer_keys() {
  return {{"quantizers", mapping, "Numbers that quantizers have.", "", {}, ""},
          {"quantizers.softness",
           number,
           "dsq: how far the ends of a soft step are from its levels, of the distance of two.",
           "0.2",
           {.least = 0.01, .most = 0.49},
           "0.4"},
          {"quantizers.keep",
           number,
           "qdrop: the share of elements that training quantizes.",
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
       "Operators that need one scale for all that they read. Those that only move codes, as concat, always do.",
       "[concat, add]",
       {.such = "operators that several values of codes go into"}},
      {"keep_scales",
       names,
       "Operators whose result has the scale of what they read.",
       "[avg_pool2d]",
       {.such = "operators on codes whose result has a scale of its own"},
       "[]"},
      {"in_float",
       names,
       "Operators that the chip computes in float, between codes on either side.",
       "[softmax, layer_norm]",
       {.such = "operators that can have codes"},
       "[]"},
      {"deploy",
       names,
       "Files that `export --format deploy` writes for the tools of the chip; docs/guides/export_vendor_files.md has a "
       "table of them.",
       "[float_model, tensorrt_ranges]",
       {.such = "files for tools: " + listed(deploy_formats())},
       "[]"},
      {"fused_activations", mapping, "Activations that the operator in front of them takes in."},
      {"fused_activations.weighted",
       names,
       "Those that operators with weights take in.",
       "[relu, relu6]",
       {.such = "activations that such operators take in"}},
      {"fused_activations.accumulates",
       names,
       "Those that sums, products and pools take in.",
       "[relu]",
       {.such = "activations that such operators take in"}},
      {"channels", mapping, "What convolutions ask of the numbers of their channels; --pad-channels makes them so."},
      {"channels.multiple",
       integer,
       "Channels come in multiples of this; 1: any number, whatever above says.",
       "16",
       {.least = 1, .most = 4096}},
      {"channels.above",
       integer,
       "Convolutions of no more input channels take any number.",
       "3",
       {.least = 0, .most = 65536}},
      {"legal", mappings,
       "What holds for kinds of operators beyond the general bit_widths; of each operator the first rule that selects "
       "it."},
      {"legal.op",
       text,
       "The operator that the rule selects.",
       "conv2d",
       {.such = "an operator that can have codes"},
       ""},
      {"legal.trait",
       text,
       "Or the kind of operators: what they are to a network on codes.",
       "weighted",
       {.choices = traits},
       ""},
      {"legal.where",
       text,
       "Of these, only depthwise layers (a group for each channel), layers with groups, depthwise ones among them, or "
       "the first or last layer with weights.",
       "depthwise",
       {.choices = layer_properties()},
       ""},
      {"legal.kernel_above",
       integer,
       "Of these, only those with a window that has a longer side.",
       "7",
       {.least = 1, .most = 65536},
       ""},
      {"legal.stride_above",
       integer,
       "Of these, only those whose window takes longer steps.",
       "2",
       {.least = 1, .most = 65536},
       ""},
      {"legal.inputs_above",
       integer,
       "Of these, only those that read more values.",
       "8",
       {.least = 1, .most = 65536},
       ""},
      {"legal.reads",
       integers,
       "Of these, only those that read nothing but codes of these bit_widths.",
       "[4]",
       {.least = 2, .most = 16},
       ""},
      {"legal.activations", integers, "BitWidths of what they read and give.", "[8]", {.least = 2, .most = 16}, ""},
      {"legal.gives", integers, "BitWidths of what they give.", "[4, 8]", {.least = 2, .most = 16}, ""},
      {"legal.weights", integers, "BitWidths of their weights.", "[8]", {.least = 2, .most = 8}, ""},
      {"legal.refused", boolean, "The chip has no such operator at all.", "true", {}, ""},
      {"legal.reason", text, "Why, for messages.", "the depthwise unit has 8-bit weights"}};
}

std::vector<RecordKey> dump_keys() {
  return {
      {"dump", mapping, "How `dump` lays out what the chip's memory or its tools are compared with.", "", {}, ""},
      {"dump.order",
       text,
       "What comes after what in a sample; ndhwcB: blocks of B channels, channels behind the last being 0.",
       "ndhwc32",
       {.choices = {"nchw", "nhwc", "ndhwc4", "ndhwc8", "ndhwc16", "ndhwc32", "ndhwc64"}},
       "nhwc"},
      {"dump.packing",
       text,
       "Codes of at most 4 bits: one in a byte, or two, with the first in the low or in the high half.",
       "low_first",
       {.choices = {"none", "low_first", "high_first"}},
       "none"},
      {"dump.offset", boolean, "Whether the top bit of codes is flipped: unsigned ones less 128.", "true", {}, "false"},
      {"dump.border", mapping, "What lies around each image, with the code of 0.", "", {}, ""},
      {"dump.border.above", integer, "Rows above.", "1", {.least = 0, .most = 64}, "0"},
      {"dump.border.below", integer, "Rows below.", "1", {.least = 0, .most = 64}, "0"},
      {"dump.border.left", integer, "Columns on the left.", "1", {.least = 0, .most = 64}, "0"},
      {"dump.border.right", integer, "Columns on the right.", "1", {.least = 0, .most = 64}, "0"}};
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
       "Which values have quantizers, by kinds of operators; absent: whatever operators on codes read and give.",
       "",
       {},
       ""},
      kinds_key("asks", "Operators whose activations have quantizers.", "[conv2d, linear, add]"),
      kinds_key("gives", "Operators whose results have one.", "[conv2d, linear]"),
      kinds_key("passes", "Behind an operator that gives, its quantizer stands behind these instead.", "[relu]"),
      kinds_key("skips", "Operators whose results never have one, whoever asks.", "[concat]"),
      kinds_key("fuses", "Activations that are part of the layer with weights in front of them.", "[relu]",
                "activations that a layer can take in"),
      kinds_key("weights", "Layers whose weights have quantizers.", "[conv2d, linear]", "operators that store weights"),
      {"insert.merges",
       mappings,
       "Pairs of operators that are one: between them there is no quantizer.",
       "[{of: mul, into: add}]",
       {},
       "[]"},
      {"insert.merges.of", text, "The operator in front.", "mul", {.such = "a kind of operator"}},
      {"insert.merges.into", text, "The operator that reads its result.", "add", {.such = "a kind of operator"}},
      {"insert.propagates", mapping, "Ranges that are those of what is in front.", "", {}, ""},
      kinds_key("propagates.through", "Results of these have no quantizer ...", "[max_pool2d]"),
      kinds_key("propagates.to", "... where one of these reads them.", "[conv2d]"),
      kinds_key("unsigned_behind", "Where activations are signed: operators whose results have codes from 0 on.",
                "[relu]"),
      kinds_key("sign_of_inputs", "Operators whose results have codes from 0 on where all that they read has.",
                "[max_pool2d]"),
      ends_key("inputs", "Whether the network's inputs have quantizers: where an operator asks, always or never."),
      ends_key("outputs", "Whether the network's outputs have quantizers: where an operator asks, always or never."),
      {"insert.as",
       text,
       "Whose habits decide where the two differ: its own rules, or with all of quirks MQBench's (`--insert-as "
       "mqbench`).",
       "mqbench",
       {.choices = {"itself", "mqbench"}},
       "itself"},
      {"insert.quirks",
       mappings,
       "What MQBench does otherwise; the audit names the places.",
       "[{quirk: single_output, reason: it looks for one output}]",
       {},
       "[]"},
      {"insert.quirks.quirk",
       text,
       "deconvolutions_alone: no activation is part of a transposed convolution without a batch norm; single_output: "
       "of a network with several outputs none is an end; means_apart: a mean over height and width that does not keep "
       "them is no global_avg_pool; norms_with_relu: a batch_norm without a layer and the relu behind it are one "
       "operator, which no list names; parts_skipped: a slice or gather has no quantizer, whoever asks.",
       "single_output",
       {.choices = quirk_names()}},
      {"insert.quirks.reason", text, "Why it does, for the audit.", "it looks for one output"},
      {"no_integers",
       text,
       "Why the chip has no integer arithmetic that is known; absent where it has.",
       "its codes are logarithms",
       {},
       ""}};
}

std::string kind_text(ValueKind kind) {
  switch (kind) {
    case text: return "text";
    case integer: return "integer";
    case number: return "number";
    case boolean: return "true or false";
    case integers: return "list of integers";
    case names: return "list of names";
    case mapping: return "keys and values";
    case mappings: return "list of mappings";
  }
  return "";
}

std::string bound(const RecordKey& key, double value) {
  return key.kind == number ? fmt::format("{}", value) : fmt::format("{:.0f}", value);
}

}  // namespace

const std::vector<std::string>& deploy_formats() {
  static const std::vector<std::string> kFormats = {
      "float_model",    "fake_quantize_model", "qdq_model",       "tensorrt_ranges", "snpe_encodings", "ppl_ranges",
      "pplcuda_ranges", "vitis_scales",        "nnie_parameters", "tengine_scales",  "stpu_ranges"};
  return kFormats;
}

std::string range_text(const RecordKey& key) {
  if (std::isinf(key.legal.least)) return "";
  return fmt::format("{} to {}", bound(key, key.legal.least), bound(key, key.legal.most));
}

std::string RecordKey::values() const {
  if (!legal.choices.empty()) return fmt::format("{}", fmt::join(legal.choices, ", "));
  const std::string range = range_text(*this);
  const std::string more = legal.such.empty() ? range : legal.such;
  return more.empty() ? kind_text(kind) : kind_text(kind) + ": " + more;
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
