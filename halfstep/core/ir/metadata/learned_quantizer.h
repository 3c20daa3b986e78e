// Quantizers that learn in ways of their own, and what they learn.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace halfstep {

enum class QuantizerKind { fixed, lsq, lsq_plus, pact, dorefa, dsq, tqt, nnie, adaround, qdrop, apot };

/// What holds for all quantizers of a kind; docs/arithmetic.md, section 2, has their rules.
struct QuantizerTraits {
  const char* name;  ///< as records of platforms have it
  bool of_weights, of_features;
  bool learns_scale = false;     ///< the scale itself is a parameter
  const char* no_integers = "";  ///< why it has no form on codes; "" where it has
};

/// In the order of QuantizerKind.
std::span<const QuantizerTraits> quantizer_kinds();
inline const QuantizerTraits& traits_of(QuantizerKind kind) { return quantizer_kinds()[static_cast<size_t>(kind)]; }
inline std::string_view name(QuantizerKind kind) { return traits_of(kind).name; }
/// Throws bad_input for what is no name of one.
QuantizerKind parse_quantizer_kind(std::string_view name);

/// A quantizer of a kind beyond fixed and lsq: the scale tensor that it and those it shares with have, and the tensors
/// that it has beside. Those that training moves are parameters, and passes::settle_quantizers makes anew what is
/// computed of them: scale and zero point (pact, tqt; the zero point alone: lsq_plus) or the weight (dorefa, adaround).
struct LearnedQuantizer {
  QuantizerKind kind = QuantizerKind::fixed;
  std::string scale = {}, zero_point = {};
  std::string offset = {};                         ///< lsq_plus: f32, like the scale
  std::string low = {}, high = {};                 ///< pact: f32[1]; no low: the range is symmetric
  std::string log2_scale = {};                     ///< tqt: f32, like the scale
  std::string weight = {}, raw = {}, choice = {};  ///< dorefa: weight and raw; adaround: choice too, like the weight
  double number = 0;                               ///< dsq: softness; qdrop: keep

  bool operator==(const LearnedQuantizer&) const = default;
};

}  // namespace halfstep
