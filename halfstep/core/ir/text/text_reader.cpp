#include "halfstep/core/ir/text/text_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/text/parse.h"

namespace halfstep::detail {
namespace {

/// Converts all of `text` to a T. Returns nullopt if any character remains.
template <class T>
std::optional<T> to_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kDTypeCount; ++i) names.emplace_back(name(static_cast<DType>(i)));
  return names;
}

void check_size(const Dims& dims) {
  Dims known = dims;
  std::replace(known.begin(), known.end(), kUnknown, int64_t{1});
  count_elements(known);
}

}  // namespace

bool TextReader::accept(char symbol) {
  const bool found = peek().is_symbol(symbol);
  if (found) lexer_.next();
  return found;
}

bool TextReader::accept_word(std::string_view word) {
  const bool found = peek().is_word(word);
  if (found) lexer_.next();
  return found;
}

void TextReader::expect(char symbol) {
  if (!accept(symbol)) fail_expected(peek(), std::string("'") + symbol + "'");
}

Token TextReader::name(std::string_view what) {
  if (!peek().is_name() || peek().text.empty()) fail_expected(peek(), what);
  return lexer_.next();
}

Token TextReader::key(std::string_view what) { return peek().kind == TokenKind::word ? lexer_.next() : name(what); }

int64_t TextReader::extent() {
  if (accept('?')) return kUnknown;
  const std::optional<int64_t> value =
      peek().kind == TokenKind::number ? to_number<int64_t>(peek().text) : std::nullopt;
  if (!value || *value < 0) fail_expected(peek(), "an extent or '?'");
  lexer_.next();
  return *value;
}

Type TextReader::type() {
  const Token token = name("a type such as f32[1, 3]");
  const std::optional<DType> dtype = parse_dtype(token.text);
  if (!dtype) fail_expected(token, "a type such as f32[1, 3]", did_you_mean(token.text, dtype_names()));
  Type type{*dtype, {}};
  expect('[');
  list(']', [&] {
    if (type.dims.size() == kMaxRank) fail_expected(peek(), fmt::format("at most {} extents", kMaxRank));
    type.dims.push_back(extent());
  });
  with_prefix(fmt::format("{}:{}", lexer_.file(), token.line), [&] { check_size(type.dims); });
  return type;
}

Attribute TextReader::number() {
  const Token token = lexer_.next();
  if (token.is_word("inf")) return std::numeric_limits<double>::infinity();
  if (token.is_word("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (token.kind == TokenKind::number) {
    if (const auto integer = to_number<int64_t>(token.text)) return *integer;
    if (const auto real = to_number<double>(token.text)) return *real;
  }
  fail_expected(token, "a number");
}

/// A list of floats if any element is a float.
Attribute TextReader::attribute_list() {
  std::vector<std::string> strings;
  std::vector<int64_t> integers;
  std::vector<double> floats;
  list(']', [&] {
    if (peek().kind == TokenKind::string && integers.empty() && floats.empty()) {
      strings.push_back(lexer_.next().text);
      return;
    }
    if (!strings.empty()) fail_expected(peek(), "a string as the elements before it");
    const Attribute value = number();
    const auto* integer = std::get_if<int64_t>(&value);
    if (integer != nullptr && floats.empty()) {
      integers.push_back(*integer);
      return;
    }
    if (floats.empty()) floats.assign(integers.begin(), integers.end());
    floats.push_back(integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value));
  });
  if (!strings.empty()) return strings;
  if (!floats.empty()) return floats;
  return integers;
}

Attribute TextReader::attribute() {
  if (accept('[')) return attribute_list();
  if (accept_word("true")) return true;
  if (accept_word("false")) return false;
  if (peek().kind == TokenKind::string) return lexer_.next().text;
  if (peek().kind != TokenKind::number && !peek().is_word("inf") && !peek().is_word("nan"))
    fail_expected(peek(), "a value: a number, a string, true, false or a list");
  return number();
}

Location TextReader::location() {
  if (peek().kind != TokenKind::string) fail_expected(peek(), "a file name in quotes");
  Location location{lexer_.next().text, 0};
  expect(':');
  const std::optional<int> line = peek().kind == TokenKind::number ? to_number<int>(peek().text) : std::nullopt;
  if (!line || *line < 0) fail_expected(peek(), "a line number");
  location.line = *line;
  lexer_.next();
  return location;
}

}  // namespace halfstep::detail
