// Context-free parts of the text form: names, lists, types, attribute values, locations.
#pragma once

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/diagnostics/location.h"
#include "halfstep/core/base/shape.h"
#include "halfstep/core/ir/text/lexer.h"

namespace halfstep::detail {

/// Each function reads the item in its name, or throws text_unexpected.
class TextReader {
 public:
  TextReader(std::string_view text, std::string file) : lexer_(text, std::move(file)) {}

  const Token& peek() const { return lexer_.peek(); }
  Location here() const { return {lexer_.file(), peek().line}; }
  [[noreturn]] void fail_expected(const Token& found, std::string_view expected,
                                  std::string_view suggestion = {}) const {
    lexer_.fail_expected(found, expected, suggestion);
  }

  bool accept(char symbol);
  bool accept_word(std::string_view word);
  void expect(char symbol);
  /// Reads a name that the graph defines.
  Token name(std::string_view what);
  /// Reads a name from a record: a port, an attribute or a region. Any word is valid, because the grammar has no
  /// keywords here.
  Token key(std::string_view what);
  /// Reads items separated by commas up to `close`. The opening symbol has already been read.
  template <class Item>
  void list(char close, Item item) {
    if (accept(close)) return;
    do {
      item();
    } while (accept(','));
    if (!accept(close)) fail_expected(peek(), std::string("',' or '") + close + "'");
  }

  Type type();
  Attribute attribute();
  /// Reads `"file":line`, after the word `at`.
  Location location();

 private:
  int64_t extent();
  Attribute number();
  Attribute attribute_list();

  Lexer lexer_;
};

}  // namespace halfstep::detail
