// Bit widths in the syntax of options.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace halfstep::api {

/// Bit widths of one stage of a schedule, for all layers except the first and the last one.
struct StageBits {
  int weights = 0, activations = 0;  ///< 0: float
  bool in_float() const { return weights == 0; }
};

/// Parses "float", "8", or "4/8" (weights/activations). Throws wrong_stage_of_schedule.
StageBits parse_stage_bits(std::string_view text);
/// Returns "float", "8 bits", "4-bit weights, 8-bit activations".
std::string to_text(const StageBits& bits);

/// Bit widths of the layers that match `selector`.
struct LayerBits {
  std::string selector;  ///< `*` and `?` as in file names
  std::optional<int> weights, activations;
};

/// Parses "conv*=4/8", "conv*=4/" or "relu?=/4", with weights before the slash and activations after it. Errors start
/// with `where`.
LayerBits parse_layer_bits(const std::string& text, const std::string& where);
std::string to_text(const LayerBits& bits);

}  // namespace halfstep::api
