#include "opgen/attribute_value.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace halfstep::opgen {
namespace {

void read(const Yaml& yaml, bool& value) { value = to_bool(yaml); }
void read(const Yaml& yaml, int64_t& value) { value = to_int(yaml); }
void read(const Yaml& yaml, double& value) { value = to_number(yaml); }
void read(const Yaml& yaml, std::string& value) {
  if (!yaml.is_scalar()) fail_at(yaml.source(), "found {}, expected text", yaml.shape());
  value = yaml.text();
}
template <class T>
void read(const Yaml& yaml, std::vector<T>& values) {
  if (!yaml.is_list()) fail_at(yaml.source(), "found {}, expected a list", yaml.shape());
  values.clear();
  for (const Yaml& element : yaml.elements()) {
    T value;
    read(element, value);
    values.push_back(std::move(value));
  }
}

/// Whether plain text is a number. `is_int` is false if it has a point or an exponent.
bool looks_like_number(const std::string& text, bool& is_int) {
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  is_int = text.find_first_not_of("+-0123456789") == std::string::npos;
  return std::any_of(text.begin(), text.end(), is_digit) &&
         text.find_first_not_of("+-.e0123456789") == std::string::npos;
}

std::string_view scalar_type(const Yaml& yaml) {
  const std::string& text = yaml.text();
  bool is_int = false;
  if (yaml.is_quoted()) return "string";
  if (text == "true" || text == "false") return "bool";
  if (looks_like_number(text, is_int)) return is_int ? "int" : "float";
  return "string";
}

std::string_view list_type(const Yaml& yaml) {
  const auto elements = yaml.elements();
  if (elements.empty())
    fail_at(yaml.source(), "an empty list shows no type, write {{type: ints, default: []}} or the like");
  std::string_view type = scalar_type(elements[0]);
  for (const Yaml& element : elements) {
    if (scalar_type(element) != type) type = "float";  // [1, 0.5] becomes floats; reading fails for other mixtures
  }
  return type == "int" ? "ints" : type == "float" ? "floats" : "strings";
}

}  // namespace

std::optional<Attribute> empty_value(std::string_view type) {
  static const std::array<Attribute, std::variant_size_v<Attribute>> kEmpty = {
      false, int64_t{0}, 0.0, std::string(), std::vector<int64_t>(), std::vector<double>(), std::vector<std::string>()};
  const auto found =
      std::find_if(kEmpty.begin(), kEmpty.end(), [type](const Attribute& value) { return type_name(value) == type; });
  return found == kEmpty.end() ? std::nullopt : std::optional(*found);
}

Attribute value_like(const Yaml& yaml, const Attribute& example) {
  Attribute value = example;
  std::visit([&yaml](auto& content) { read(yaml, content); }, value);
  return value;
}

Attribute infer_value(const Yaml& yaml) {
  if (!yaml.is_scalar() && !yaml.is_list()) fail_at(yaml.source(), "found {}, expected a value", yaml.shape());
  return value_like(yaml, *empty_value(yaml.is_list() ? list_type(yaml) : scalar_type(yaml)));
}

}  // namespace halfstep::opgen
