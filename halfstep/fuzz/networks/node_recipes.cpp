#include "halfstep/fuzz/networks/node_recipes.h"

#include <set>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/formats/onnx/forms.h"

namespace halfstep::fuzz {

const Recipes& all_recipes() {
  static const Recipes kRecipes = [] {
    Recipes all;
    for (const auto family :
         {function_recipes, pointwise_recipes, layer_recipes, window_recipes, norm_recipes, move_recipes, index_recipes,
          reduce_recipes, shape_recipes, flow_recipes, sampling_recipes, recurrent_recipes, code_recipes, form_recipes,
          tail_recipes, open_recipes}) {
      const Recipes some = family();
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return kRecipes;
}

std::vector<std::string> importable_operators() {
  std::set<std::string> titles;
  const auto add = [&](std::string_view domain, std::string_view op) {
    titles.insert(Recipe{.op = op, .make = nullptr, .domain = domain}.title());
  };
  for (const OpInfo& info : all_operators()) {
    for (const ForeignInfo& foreign : info.foreign) {
      if (foreign.format == "onnx") add(foreign.domain, foreign.op);
    }
  }
  for (const auto& form : formats::onnx::all_forms()) add(form.domain, form.op);
  return {titles.begin(), titles.end()};
}

}  // namespace halfstep::fuzz
