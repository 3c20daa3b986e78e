// Quantizers that a user defines by networks of their own: their sites, their insertion, and their declared codes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/api/quantize.h"

namespace halfstep::api {

/// A quantizer of a prepared network that an own one can replace.
struct QuantizerSite {
  std::string scale;      ///< name of its scale tensor; sites with the same one share an own quantizer
  std::string quantizer;  ///< name of the quantizer
  std::string layer;      ///< layer of the site, for messages
  Type type;              ///< type of the quantized value
  Tensor low, high;       ///< observed range, f32, with dimensions that broadcast against the value
};

/// Quantized operands of a layer.
enum class LayerPart { weights, activations };

/// Sites that `selector` selects: a quantized tensor or value by its name, or the weights or activations (`part`) of
/// layers by a pattern of names or "op:PATTERN". Throws if it selects none.
std::vector<QuantizerSite> quantizer_sites(const Model& prepared, const std::string& selector, LayerPart part);

/// An own quantizer for all sites with one scale.
struct OwnQuantizer {
  std::string name;   ///< name of the class, for messages
  std::string layer;  ///< layer of a site, for messages
  std::string scale;  ///< scale tensor of the sites
  Tensors state;      ///< initial contents, f32
  /// By site. Arguments: passes::kOwnInput, then the entries of the state. Outputs: passes::kOwnResult, derivatives
  /// (passes::own_derivative), and optionally scale and zero point.
  std::map<std::string, Model> networks;
  std::optional<std::pair<int64_t, int64_t>> codes = {};  ///< least and largest code; default: those of the platform
};

/// Replaces quantizers by own ones. Entries of the state with a derivative become parameters. Throws if results or
/// derivatives have other types, or if the platform does not allow the codes.
QuantizeResult with_own_quantizers(const Model& prepared, const std::vector<OwnQuantizer>& own);

}  // namespace halfstep::api
