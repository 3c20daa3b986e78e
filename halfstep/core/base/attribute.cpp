#include "halfstep/core/base/attribute.h"

#include <fmt/format.h>

#include <array>

#include "halfstep/core/base/status.h"

namespace halfstep {
namespace {

std::string element(bool v) { return v ? "true" : "false"; }
std::string element(int64_t v) { return std::to_string(v); }
std::string element(const std::string& v) { return quote(v); }
std::string element(double v) {
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".eni") == std::string::npos) text += ".0";
  return text;
}

template <class T>
std::string element(const std::vector<T>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i > 0 ? ", " : "") + element(values[i]);
  return out + "]";
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\t': out += "\\t"; break;
      default:
        if (c >= 0x20 && c <= 0x7e) {
          out += c;
        } else {
          out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
  }
  return out + "\"";
}

std::string to_string(const Attribute& value) {
  return std::visit([](const auto& v) { return element(v); }, value);
}

std::string_view type_name(const Attribute& value) {
  static constexpr std::array<std::string_view, std::variant_size_v<Attribute>> kNames = {
      "bool", "int", "float", "string", "ints", "floats", "strings"};
  return kNames[value.index()];
}

template <class T>
const T& get(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  HS_CHECK(found != attributes.end());
  const T* value = std::get_if<T>(&found->second);
  HS_CHECK(value != nullptr);
  return *value;
}

template const bool& get(const Attributes&, std::string_view);
template const int64_t& get(const Attributes&, std::string_view);
template const double& get(const Attributes&, std::string_view);
template const std::string& get(const Attributes&, std::string_view);
template const std::vector<int64_t>& get(const Attributes&, std::string_view);
template const std::vector<double>& get(const Attributes&, std::string_view);
template const std::vector<std::string>& get(const Attributes&, std::string_view);

}  // namespace halfstep
