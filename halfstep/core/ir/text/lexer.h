// Tokens of the text form. The parser uses them, and the printer uses them to decide which names need quotes.
#pragma once

#include <string>
#include <string_view>

namespace halfstep::detail {

/// Whether a name needs no quotes: it matches [A-Za-z_/][A-Za-z0-9_./-]* and is not a keyword of the grammar.
bool is_plain_name(std::string_view name);

/// Returns the name as the text form writes it, quoted if necessary.
std::string written_name(std::string_view name);

enum class TokenKind { word, string, number, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< for a string: without quotes, escapes replaced
  int line = 1;

  /// Whether the token is a name: a word that is not a keyword, or a string.
  bool is_name() const;
  bool is_symbol(char c) const { return kind == TokenKind::symbol && text[0] == c; }
  bool is_word(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

/// Splits a text into tokens, one at a time, and keeps no passed tokens. Throws Error with file and line.
class Lexer {
 public:
  Lexer(std::string_view text, std::string file);

  const Token& peek() const { return token_; }
  Token next();
  const std::string& file() const { return file_; }

  /// Throws "digits.ir:12: found 'x', expected WHAT".
  [[noreturn]] void fail_expected(const Token& found, std::string_view expected,
                                  std::string_view suggestion = {}) const;

 private:
  void skip_blanks();
  Token scan();
  std::string scan_string();
  char scan_escape();
  [[noreturn]] void fail_here(const std::string& found, std::string_view expected) const;

  std::string_view text_;
  std::string file_;
  size_t at_ = 0;
  int line_ = 1;
  Token token_;
};

}  // namespace halfstep::detail
