// Tokens of the text form; used by the parser, and by the printer to know which names need quotes.
#pragma once

#include <string>
#include <string_view>

namespace halfstep::detail {

/// Whether a name is written as it is: [A-Za-z_/][A-Za-z0-9_./-]*, and no word of the grammar. Any other name is
/// quoted.
bool is_plain_name(std::string_view name);

/// The name as the text form writes it.
std::string written_name(std::string_view name);

enum class TokenKind { word, string, number, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< a string's without quotes and escapes
  int line = 1;

  /// A name: a word that the grammar does not use, or a string.
  bool is_name() const;
  bool is_symbol(char c) const { return kind == TokenKind::symbol && text[0] == c; }
  bool is_word(std::string_view word) const { return kind == TokenKind::word && text == word; }
};

/// Cuts a text into tokens, one at a time; nothing is kept of what is passed. Throws Error with file and line.
class Lexer {
 public:
  Lexer(std::string_view text, std::string file);

  const Token& peek() const { return token_; }
  Token next();
  const std::string& file() const { return file_; }

  /// "digits.ir:12: found 'x', expected WHAT".
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
