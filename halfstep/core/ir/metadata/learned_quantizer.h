// Learned quantizers and their parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halfstep {

/// Kinds of quantizers: fixed scales, learned scales (lsq), and the methods of LearnedQuantizer.
enum class QuantizerKind { fixed, lsq, lsq_plus, pact, dorefa, dsq, tqt, nnie, adaround, qdrop, apot };

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

  bool operator==(const LearnedQuantizer&) const = default;
};

}  // namespace halfstep
