// Learned quantizers and their parameters.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace halfstep {

/// Kinds of quantizers: fixed scales, learned scales (lsq), the methods of LearnedQuantizer, and networks of the user
/// (own).
enum class QuantizerKind { fixed, lsq, lsq_plus, pact, dorefa, dsq, tqt, nnie, adaround, qdrop, apot, own };

/// Properties of a kind of quantizer. docs/arithmetic.md, section 2, defines the rules.
struct QuantizerTraits {
  const char* name;  ///< name in platform records
  bool of_weights, of_activations;
  bool learns_scale = false;     ///< the scale itself is a parameter
  const char* no_integers = "";  ///< reason why there is no integer form; "" if there is one
};

/// Traits in the order of QuantizerKind.
std::span<const QuantizerTraits> quantizer_kinds();
inline const QuantizerTraits& traits_of(QuantizerKind kind) { return quantizer_kinds()[static_cast<size_t>(kind)]; }
inline std::string_view name(QuantizerKind kind) { return traits_of(kind).name; }
/// Throws bad_input for an unknown name.
QuantizerKind parse_quantizer_kind(std::string_view name);

/// A quantizer of a kind other than fixed and lsq. `scale` names the scale tensor, which the quantizers of a shared
/// scale group have in common. The other names are further tensors. Trained tensors are parameters.
/// passes::settle_quantizers recomputes the tensors derived from them: scale and zero point (pact, tqt), the zero point
/// alone (lsq_plus), or the weight (dorefa, adaround).
struct LearnedQuantizer {
  QuantizerKind kind = QuantizerKind::fixed;
  std::string scale = {}, zero_point = {};
  std::string offset = {};                         ///< lsq_plus: f32, shape of the scale
  std::string low = {}, high = {};                 ///< pact: f32[1]; without `low` the range is symmetric
  std::string log2_scale = {};                     ///< tqt: f32, shape of the scale
  std::string weight = {}, raw = {}, choice = {};  ///< dorefa: weight and raw; adaround: choice too, with the shape of
                                                   ///< the weight
  double number = 0;                               ///< dsq: softness; qdrop: keep probability
  std::string name = {};                           ///< own: name for messages
  /// own: text of the network that computes a quantizer, by the quantizer's name (passes/quantized/own_quantizers.h)
  std::map<std::string, std::string> networks = {};
  std::map<std::string, std::string> tensors = {};  ///< own: tensors by the networks' arguments that receive them
  bool declares_scale = false;                      ///< own: the networks compute a scale and a zero point too

  bool operator==(const LearnedQuantizer&) const = default;
};

}  // namespace halfstep
