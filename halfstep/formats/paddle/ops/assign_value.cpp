// A constant tensor, whose elements are in the program.
#include <fmt/format.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_assign_value(Translator& translator, const Node& node) {
  node.input({"", 0});  // its previous contents, which it overwrites
  std::vector<double> elements;
  for (const char* name :
       {"values", "fp32_values", "fp64_values", "int32_values", "int64_values", "int8_values", "bool_values"}) {
    const Attribute* values = node.attribute(name);
    if (values != nullptr && elements.empty())
      elements = numbers_of(*values, fmt::format("{}: attribute {}", node.where(), name));
  }
  Tensor tensor(dtype_of(node, "dtype"), node.integers("shape"));
  if (static_cast<int64_t>(elements.size()) != tensor.size())
    fail(errors::wrong_count(node.where(), "elements", elements.size(), "the values of " + to_string(tensor.type())));
  for (size_t i = 0; i < elements.size(); ++i) store(tensor, static_cast<int64_t>(i), elements[i]);
  translator.set(node, {"Out", 0}, Translator::known(tensor));
}

}  // namespace halfstep::formats::paddle
