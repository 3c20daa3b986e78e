// Quantizer placement of a target: the section `insert:` of platforms/*.yaml.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace halfstep::quant {

class YamlReader;

/// Whether inputs or outputs of a network are quantized: only if an operator asks for it, always, or never.
enum class Ends { asked, always, never };

/// Deviations of MQBench, which are mistakes or follow from its implementation. docs/reference/platform_keys.md
/// describes each.
enum class QuirkKind {
  deconvolutions_alone,  ///< a transposed convolution without a normalization does not fuse with an activation
  single_output,         ///< a network with several outputs has no last operation
  means_apart,           ///< a mean over height and width without keep_dims is not treated as a pool
  norms_with_relu,       ///< a normalization without a preceding layer and its ReLU form one operator, which no list
                         ///< contains
  parts_skipped          ///< the result of a slice or gather has no quantizer of its own
};
struct Quirk {
  QuirkKind kind;
  std::string reason;
};
/// The name of the quirk in records.
std::string name(QuirkKind kind);
std::vector<std::string> quirk_names();

/// Names are kinds of operators: the name of an operator's record, or of a unit of several operators (passes::Unit).
struct InsertionRules {
  std::vector<std::string> asks;     ///< operators whose input activations have quantizers
  std::vector<std::string> gives;    ///< operators whose results have a quantizer
  std::vector<std::string> passes;   ///< after an operator of `gives`, the quantizer is placed after these operators
                                     ///< instead
  std::vector<std::string> skips;    ///< operators whose results never have a quantizer
  std::vector<std::string> fuses;    ///< activation functions that are part of the preceding operator with weights
  std::vector<std::string> weights;  ///< operators whose weights have quantizers
  std::vector<std::pair<std::string, std::string>> merges;  ///< (of, into): `into` does not ask for a quantizer on the
                                                            ///< result of `of`, because both are one operation
  /// The result of an operator in `propagates_from` has no quantizer if an operator in `propagates_to` reads it. Its
  /// range is then the range of the operator's input.
  std::vector<std::string> propagates_from, propagates_to;
  std::vector<std::string> unsigned_behind;  ///< on targets with signed activations: results of these use codes from 0
                                             ///< with zero point 0
  std::vector<std::string> sign_of_inputs;   ///< results of these are unsigned if all their inputs are unsigned
  Ends inputs = Ends::asked, outputs = Ends::asked;
  std::vector<Quirk> quirks;  ///< applied if `as_mqbench`
  bool as_mqbench = false;

  bool follows(QuirkKind kind) const;
};

/// Reads the mapping `insert` of a record. Reports rules that contradict each other or have no effect.
InsertionRules read_insertion(const YamlReader& record);

}  // namespace halfstep::quant
