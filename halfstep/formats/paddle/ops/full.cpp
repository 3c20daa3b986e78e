// A constant.
#include <charconv>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {

namespace {

/// A ProgramDesc also has the value as text, which may be more precise than float32.
double number_of(const std::string& text, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    fail(errors::wrong_attribute_type(where + ": attribute str_value", quote(text), "a number"));
  return value;
}

}  // namespace

void translate_full(Translator& translator, const Node& node) {
  const std::vector<int64_t> dims = translator.integers(node, "shape", kNoPosition);
  double value = translator.number(node, "value", kNoPosition, 0);
  if (const std::string text = node.text("str_value", ""); !text.empty()) value = number_of(text, node.where());
  translator.set(node, {"Out", 0}, constant(node, dtype_of(node, "dtype"), dims, value));
}

}  // namespace halfstep::formats::paddle
