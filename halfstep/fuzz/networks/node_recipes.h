// Recipes for the nodes of each ONNX operator. A recipe selects suitable operands, and attributes in all their forms,
// unusual ones included. It computes the extents of the result itself.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/fuzz/networks/maker.h"

namespace halfstep::fuzz {

/// Execution of an operator in a prepared network.
enum class Home {
  floats,  ///< in float
  codes,   ///< on codes, if the platform supports it
  table,   ///< a pointwise function that becomes a table of codes
  shapes   ///< computes extents and positions, also in networks on codes
};

/// Whether operators of that home count as operators with a form on codes.
inline bool has_codes(Home home) { return home == Home::codes || home == Home::table; }

struct Recipe {
  std::string_view op;
  /// Adds at least one node of the operator. Throws Unsuited without suitable operands.
  void (*make)(Maker&, std::string_view op);
  Home home = Home::floats;
  int64_t since = 7, until = std::numeric_limits<int64_t>::max();  ///< supported ONNX operator set versions
  std::string_view domain = {};

  std::string title() const { return domain.empty() ? std::string(op) : std::string(domain) + " " + std::string(op); }
};

using Recipes = std::vector<Recipe>;

// Recipes by family, one file for each.
Recipes function_recipes();   ///< functions of one number
Recipes pointwise_recipes();  ///< functions of several numbers, comparisons
Recipes layer_recipes();
Recipes window_recipes();
Recipes norm_recipes();
Recipes move_recipes();
Recipes index_recipes();
Recipes reduce_recipes();
Recipes shape_recipes();  ///< values known during import
Recipes flow_recipes();   ///< branches and loops
Recipes sampling_recipes();
Recipes recurrent_recipes();
Recipes code_recipes();  ///< quantizers and operators on codes
Recipes form_recipes();  ///< layers of several operators
Recipes tail_recipes();  ///< arithmetic per channel before and after layers
Recipes open_recipes();  ///< computation of extents and positions

/// The recipes of all families.
const Recipes& all_recipes();

/// Operators that the importer supports through records and forms, such as "Conv" or "com.microsoft QGemm".
std::vector<std::string> importable_operators();

}  // namespace halfstep::fuzz
