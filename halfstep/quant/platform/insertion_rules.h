// Where a target has quantizers, as its record says: the section `insert:` of platforms/*.yaml.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace halfstep::quant {

class YamlReader;

/// Which ends of a network are quantized: those that an operator asks for, all, or none.
enum class Ends { asked, always, never };

/// What MQBench does otherwise, by mistake or by the form of its code; docs/reference/platform_keys.md has a sentence
/// for each.
enum class QuirkKind {
  deconvolutions_alone,  ///< no activation is part of a transposed convolution that has no normalization
  single_output,         ///< of a network with several outputs none is an end
  means_apart,           ///< a mean over height and width that does not keep them is no pool
  norms_with_relu,       ///< a normalization without a layer and the ReLU behind it are one, which no list names
  parts_skipped          ///< what is taken out of a value by place has no quantizer of its own
};
struct Quirk {
  QuirkKind kind;
  std::string reason;
};
/// As records call it.
std::string name(QuirkKind kind);
std::vector<std::string> quirk_names();

/// Operators are meant by their kind: the name of their record, or of what several make together (passes::Unit).
struct InsertionRules {
  std::vector<std::string> asks;     ///< their features have quantizers
  std::vector<std::string> gives;    ///< their results have one
  std::vector<std::string> passes;   ///< behind one that gives: its quantizer stands behind these instead
  std::vector<std::string> skips;    ///< their results never have one
  std::vector<std::string> fuses;    ///< activations that are part of the operator with weights in front of them
  std::vector<std::string> weights;  ///< their weights have quantizers
  std::vector<std::pair<std::string, std::string>> merges;  ///< the first asks the second for nothing: one operation
  /// The result of the first has none where one of the second reads it, whose range is that of what the first reads.
  std::vector<std::string> propagates_from, propagates_to;
  std::vector<std::string> unsigned_behind;  ///< of signed features: codes from 0 on behind these, zero point 0
  std::vector<std::string> sign_of_inputs;   ///< unsigned where all that comes to them is
  Ends inputs = Ends::asked, outputs = Ends::asked;
  std::vector<Quirk> quirks;  ///< followed where `as_mqbench`
  bool as_mqbench = false;

  bool follows(QuirkKind kind) const;
};

/// The mapping `insert` of a record. Rules that contradict each other or never decide are objected to.
InsertionRules read_insertion(const YamlReader& record);

}  // namespace halfstep::quant
