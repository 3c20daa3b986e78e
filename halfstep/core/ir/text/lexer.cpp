#include "halfstep/core/ir/text/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep::detail {
namespace {

constexpr std::array<std::string_view, 6> kReserved = {"param", "state", "const", "return", "region", "at"};

// Replaces <cctype>, whose functions depend on the locale.
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool starts_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '/'; }
constexpr bool continues_word(char c) { return starts_word(c) || is_digit(c) || c == '.' || c == '-'; }

bool is_reserved(std::string_view word) {
  return std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end();
}

/// Length of the number at the start of `text`. Letters count as part of it, so that `1x` is one malformed number. A
/// sign counts after an exponent.
size_t number_length(std::string_view text) {
  size_t length = 1;
  while (length < text.size()) {
    const char c = text[length];
    const bool sign_of_exponent = (c == '-' || c == '+') && (text[length - 1] == 'e' || text[length - 1] == 'E');
    if (!is_digit(c) && c != '.' && !sign_of_exponent && (!starts_word(c) || c == '/')) break;
    ++length;
  }
  return length;
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

/// Token text for messages, shortened because a hostile text may contain a long token.
std::string shown(const Token& token) {
  constexpr size_t kLongest = 60;
  if (token.kind == TokenKind::end) return "the end of the text";
  const std::string text = token.text.substr(0, kLongest) + (token.text.size() > kLongest ? "..." : "");
  return token.kind == TokenKind::string ? quote(text) : "'" + text + "'";
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && starts_word(name[0]) && std::all_of(name.begin(), name.end(), continues_word) &&
         !is_reserved(name);
}

std::string written_name(std::string_view name) { return is_plain_name(name) ? std::string(name) : quote(name); }

bool Token::is_name() const { return kind == TokenKind::string || (kind == TokenKind::word && !is_reserved(text)); }

Lexer::Lexer(std::string_view text, std::string file) : text_(text), file_(std::move(file)) { token_ = scan(); }

Token Lexer::next() {
  Token current = std::move(token_);
  token_ = scan();
  return current;
}

void Lexer::fail_expected(const Token& found, std::string_view expected, std::string_view suggestion) const {
  fail(errors::text_unexpected(fmt::format("{}:{}", file_, found.line), shown(found),
                               fmt::format("{}{}", expected, suggestion)));
}

void Lexer::fail_here(const std::string& found, std::string_view expected) const {
  fail(errors::text_unexpected(fmt::format("{}:{}", file_, line_), found, expected));
}

void Lexer::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      continue;
    }
    if (c == '\n') {
      ++line_;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
    ++at_;
  }
}

Token Lexer::scan() {
  skip_blanks();
  Token token;
  token.line = line_;
  if (at_ == text_.size()) return token;
  const std::string_view rest = text_.substr(at_);
  const char c = rest[0];
  if (c == '"') {
    token.kind = TokenKind::string;
    token.text = scan_string();
    return token;
  }
  size_t length = 1;
  if (starts_word(c)) {
    token.kind = TokenKind::word;
    length = static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), continues_word) - rest.begin());
  } else if (is_digit(c) || c == '-') {
    token.kind = TokenKind::number;
    length = number_length(rest);
  } else if (std::string_view("(){}[]=:,@?").find(c) != std::string_view::npos) {
    token.kind = TokenKind::symbol;
  } else {
    fail_here(quote(rest.substr(0, 1)), "a word, a string, a number or one of (){}[]=:,@?");
  }
  token.text = rest.substr(0, length);
  at_ += length;
  return token;
}

std::string Lexer::scan_string() {
  std::string out;
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\n') fail_here("the end of the line", "the closing quote of a string");
    out += text_[at_] == '\\' ? scan_escape() : text_[at_];
  }
  if (at_ == text_.size()) fail_here("the end of the text", "the closing quote of a string");
  ++at_;
  return out;
}

/// Returns the character of the escape sequence at the current position. Leaves the position at the last character of
/// the sequence.
char Lexer::scan_escape() {
  const std::string_view rest = text_.substr(at_ + 1);
  ++at_;
  if (rest.starts_with('"') || rest.starts_with('\\')) return rest[0];
  if (rest.starts_with('n')) return '\n';
  if (rest.starts_with('t')) return '\t';
  if (rest.starts_with('x') && rest.size() >= 3 && hex_digit(rest[1]) >= 0 && hex_digit(rest[2]) >= 0) {
    at_ += 2;
    return static_cast<char>(hex_digit(rest[1]) * 16 + hex_digit(rest[2]));
  }
  fail_here(quote(text_.substr(at_ - 1, 2)), R"(an escape: \" \\ \n \t or \x and two hex digits)");
}

}  // namespace halfstep::detail
