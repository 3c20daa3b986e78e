#include "halfstep/formats/c/c_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/status.h"
#include "halfstep/formats/c/errors.h"

namespace halfstep::formats::c {
namespace {

constexpr size_t kLineEnd = 110;

/// Folder of the functions from which programs are built.
constexpr std::string_view kTemplates = "halfstep/formats/c/text/";

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return text;
}
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string number_text(int64_t value) { return c_number(value); }
std::string number_text(float value) { return c_number(value); }

}  // namespace

std::string c_type(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::u8: return "uint8_t";
    case DType::i4:
    case DType::i8: return "int8_t";
    case DType::u16: return "uint16_t";
    case DType::i16: return "int16_t";
    case DType::i32: return "int32_t";
    case DType::i64: return "int64_t";
    case DType::f32: return "float";
    default: break;
  }
  fail(errors::c_type(name(dtype)));
}

std::string tag(DType dtype) { return std::string(name(dtype == DType::i4 ? DType::i8 : dtype)); }

std::string c_number(int64_t value) {
  if (value == INT32_MIN) return "(-2147483647 - 1)";
  if (value == INT64_MIN) return "(-9223372036854775807 - 1)";
  return std::to_string(value);
}

std::string c_number(float value) {
  if (std::isnan(value)) return "(0.0f / 0.0f)";
  if (std::isinf(value)) return value > 0 ? "(1.0f / 0.0f)" : "(-1.0f / 0.0f)";
  const std::string digits = fmt::format("{:.9g}", value);
  const bool is_real = digits.find_first_of(".e") != std::string::npos;
  return digits + (is_real ? "f" : ".0f");
}

template <class T>
std::string c_numbers(std::span<const T> values) {
  std::string text, line;
  for (const T& value : values) {
    const std::string number = number_text(value);
    if (!line.empty() && line.size() + number.size() + 2 > kLineEnd) {
      text += line + ",\n    ";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + number;
  }
  return text + line;
}
template std::string c_numbers<int64_t>(std::span<const int64_t>);
template std::string c_numbers<float>(std::span<const float>);

std::string c_string(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 || byte > 126 || c == '"' || c == '\\' || c == '?') {
      safe += fmt::format("\\{:03o}", byte);
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string c_comment(std::string_view text) {
  std::string safe(text);
  for (size_t i = 0; i < safe.size(); ++i) {
    const auto byte = static_cast<unsigned char>(safe[i]);
    const bool closes = i > 0 && ((safe[i - 1] == '*' && safe[i] == '/') || (safe[i - 1] == '/' && safe[i] == '*'));
    if (byte < 32 || byte > 126 || closes || safe[i] == '\\' || safe[i] == '?') safe[i] = '.';
  }
  return safe;
}

bool is_c_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && text[0] != '_' &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string to_c_identifier(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool fits = is_letter(c) || is_digit(c);
    if (fits || (!result.empty() && result.back() != '_')) result += fits ? c : '_';
  }
  while (result.ends_with('_')) result.pop_back();
  result.erase(0, result.find_first_not_of('_'));
  if (result.empty()) return "network";
  return is_digit(result[0]) ? "n" + result : result;
}

bool is_reserved(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "auto",    "break",   "case",    "char",     "const",    "continue", "default",   "do",
      "double",  "else",    "enum",    "extern",   "float",    "for",      "goto",      "if",
      "inline",  "int",     "long",    "register", "return",   "restrict", "short",     "signed",
      "sizeof",  "static",  "struct",  "switch",   "typedef",  "union",    "void",      "volatile",
      "while",   "NULL",    "memcpy",  "main",     "unsigned", "size_t",   "uintptr_t", "int8_t",
      "int16_t", "int32_t", "int64_t", "uint8_t",  "uint16_t", "uint32_t", "uint64_t"};
  if (std::ranges::find(kWords, name) != std::end(kWords)) return true;
  return std::ranges::any_of(embedded_files(), [&](const EmbeddedFile& file) {
    std::string_view stem = file.path;
    if (!stem.starts_with(kTemplates)) return false;
    stem = stem.substr(stem.rfind('/') + 1);
    stem = stem.substr(0, stem.rfind('.'));
    return name.starts_with(stem) && (name.size() == stem.size() || name[stem.size()] == '_');
  });
}

std::string Identifiers::unique(std::string_view hint) {
  const std::string base = to_c_identifier(hint);
  std::string name = base;
  for (int i = 2; !taken_.insert(lower(name)).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

}  // namespace halfstep::formats::c
