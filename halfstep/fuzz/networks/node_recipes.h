// How a node of each ONNX operator is made. A recipe picks operands that the operator takes, and attributes in all
// their forms, odd ones too; the extents of the result it knows by itself.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/fuzz/networks/maker.h"

namespace halfstep::fuzz {

/// Where an operator ends up in a prepared network.
enum class Home {
  floats,  ///< it stays in float
  codes,   ///< platforms have it on codes
  table,   ///< a pointwise function, which becomes a table of codes
  shapes   ///< it says extents and places, in networks on codes too
};

/// Whether operators of that home are counted as those that have codes.
inline bool has_codes(Home home) { return home == Home::codes || home == Home::table; }

struct Recipe {
  std::string_view op;
  /// Adds at least one node of the operator. Throws Unsuited where there is nothing to work on.
  void (*make)(Maker&, std::string_view op);
  Home home = Home::floats;
  int64_t since = 7, until = std::numeric_limits<int64_t>::max();  ///< versions of ONNX's operators
  std::string_view domain = {};

  std::string title() const { return domain.empty() ? std::string(op) : std::string(domain) + " " + std::string(op); }
};

using Recipes = std::vector<Recipe>;

// By family, one file each.
Recipes function_recipes();   ///< of one number
Recipes pointwise_recipes();  ///< of several numbers, and comparisons
Recipes layer_recipes();
Recipes window_recipes();
Recipes norm_recipes();
Recipes move_recipes();
Recipes index_recipes();
Recipes reduce_recipes();
Recipes shape_recipes();  ///< what is known while a file is translated
Recipes flow_recipes();   ///< branches and iterations
Recipes sampling_recipes();
Recipes recurrent_recipes();
Recipes code_recipes();  ///< quantizers and operators on codes
Recipes form_recipes();  ///< layers of several operators
Recipes tail_recipes();  ///< what stands in front of layers and behind them, for each channel
Recipes open_recipes();  ///< what computes extents and places

/// All of them.
const Recipes& all_recipes();

/// Operators that the importer has, "Conv", "com.microsoft QGemm", by the records and the forms.
std::vector<std::string> importable_operators();

}  // namespace halfstep::fuzz
