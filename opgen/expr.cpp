#include "opgen/expr.h"

#include <array>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <string_view>

namespace halfstep::opgen {
namespace {

/// Limits the recursion of the parser.
constexpr int kDeepest = 100;

struct Token {
  enum class Kind { end, number, text, name, symbol };
  Kind kind = Kind::end;
  std::string text;
};

class Lexer {
 public:
  Lexer(const std::string& text, const Source& source) : text_(text), source_(source) { advance(); }
  const Token& token() const { return token_; }

  void advance() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == text_.size()) {
      token_ = {};
      return;
    }
    const char c = text_[at_];
    if (is_digit(c)) {
      take(Token::Kind::number, number_length());
    } else if (is_word(c)) {
      size_t length = 0;
      while (at_ + length < text_.size() && is_word(text_[at_ + length])) ++length;
      take(Token::Kind::name, length);
    } else if (c == '\'') {
      const size_t end = text_.find('\'', at_ + 1);
      if (end == std::string::npos) fail_at(source_, "a quote in '{}' is not closed", text_);
      token_ = {Token::Kind::text, text_.substr(at_ + 1, end - at_ - 1)};
      at_ = end + 1;
    } else {
      take(Token::Kind::symbol, symbol_length());
    }
  }

 private:
  static bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

  void take(Token::Kind kind, size_t length) {
    token_ = {kind, text_.substr(at_, length)};
    at_ += length;
  }

  size_t number_length() const {
    size_t end = at_;
    while (end < text_.size() && (is_digit(text_[end]) || text_[end] == '.')) ++end;
    if (end < text_.size() && text_[end] == 'e') {
      ++end;
      if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
      while (end < text_.size() && is_digit(text_[end])) ++end;
    }
    return end - at_;
  }

  size_t symbol_length() const {
    static constexpr std::array<std::string_view, 5> kDouble = {"//", "==", "!=", "<=", ">="};
    const std::string_view rest = std::string_view(text_).substr(at_);
    if (rest.starts_with(kRest)) return std::string_view(kRest).size();
    for (const std::string_view symbol : kDouble) {
      if (rest.starts_with(symbol)) return 2;
    }
    if (std::string_view("+-*/%<>()[],.=").find(rest[0]) == std::string_view::npos)
      fail_at(source_, "'{}' in '{}' is not allowed here", rest[0], text_);
    return 1;
  }

  const std::string& text_;
  const Source& source_;
  size_t at_ = 0;
  Token token_;
};

class Parser {
 public:
  Parser(const std::string& text, const Source& source) : text_(text), source_(source), lexer_(text, source) {}

  Expr parse() {
    Expr expr = parse_or();
    if (lexer_.token().kind != Token::Kind::end) unexpected("the end");
    return expr;
  }

 private:
  [[noreturn]] void unexpected(std::string_view expected) const {
    const Token& token = lexer_.token();
    const std::string found = token.kind == Token::Kind::end ? "the end" : "'" + token.text + "'";
    fail_at(source_, "bad expression '{}': found {}, expected {}", text_, found, expected);
  }

  bool next_is(std::string_view text) const {
    const Token& token = lexer_.token();
    return (token.kind == Token::Kind::symbol || token.kind == Token::Kind::name) && token.text == text;
  }
  bool accept(std::string_view text) {
    if (!next_is(text)) return false;
    lexer_.advance();
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) unexpected(fmt::format("'{}'", text));
  }
  std::string expect_name() {
    if (lexer_.token().kind != Token::Kind::name) unexpected("a name");
    std::string name = lexer_.token().text;
    lexer_.advance();
    return name;
  }

  static Expr node(Expr::Kind kind, std::string text, std::vector<Expr> args) {
    Expr expr;
    expr.kind = kind;
    expr.text = std::move(text);
    expr.args = std::move(args);
    return expr;
  }
  static Expr binary(std::string op, Expr a, Expr b) {
    return node(Expr::Kind::binary, std::move(op), {std::move(a), std::move(b)});
  }

  /// Parses operand (OP operand)*, left-associative.
  Expr parse_chain(std::initializer_list<std::string_view> operators, Expr (Parser::*operand)()) {
    Expr expr = (this->*operand)();
    for (bool again = true; again;) {
      again = false;
      for (const std::string_view op : operators) {
        if (!accept(op)) continue;
        expr = binary(std::string(op), std::move(expr), (this->*operand)());
        again = true;
        break;
      }
    }
    return expr;
  }

  Expr parse_or() {
    if (++depth_ > kDeepest) fail_at(source_, "expression nested deeper than {}", kDeepest);
    Expr expr = parse_chain({"or"}, &Parser::parse_and);
    --depth_;
    return expr;
  }
  Expr parse_and() { return parse_chain({"and"}, &Parser::parse_not); }
  Expr parse_not() {
    if (!accept("not")) return parse_comparison();
    return node(Expr::Kind::unary, "not", {parse_comparison()});
  }
  Expr parse_comparison() {
    Expr expr = parse_sum();
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">", "in"}) {
      if (accept(op)) return binary(std::string(op), std::move(expr), parse_sum());
    }
    return expr;
  }
  Expr parse_sum() { return parse_chain({"+", "-"}, &Parser::parse_product); }
  Expr parse_product() { return parse_chain({"*", "//", "/", "%"}, &Parser::parse_sign); }
  Expr parse_sign() {
    if (!accept("-")) return parse_postfix();
    Expr operand = parse_postfix();
    if (operand.is(Expr::Kind::integer)) {
      operand.integer = -operand.integer;
      return operand;
    }
    if (operand.is(Expr::Kind::real)) {
      operand.real = -operand.real;
      return operand;
    }
    return node(Expr::Kind::unary, "-", {std::move(operand)});
  }

  Expr parse_postfix() {
    Expr expr = parse_atom();
    for (;;) {
      if (accept("[")) {
        expr = node(Expr::Kind::index, "", {std::move(expr), parse_or()});
        expect("]");
      } else if (accept(".")) {
        expr = node(Expr::Kind::member, expect_name(), {std::move(expr)});
      } else {
        return expr;
      }
    }
  }

  Expr parse_atom() {
    const Token token = lexer_.token();
    if (token.kind == Token::Kind::number) return parse_number();
    if (token.kind == Token::Kind::text) {
      lexer_.advance();
      return node(Expr::Kind::text, token.text, {});
    }
    if (accept("(")) {
      Expr expr = parse_or();
      expect(")");
      return expr;
    }
    if (accept("[")) return parse_list();
    if (token.kind != Token::Kind::name || next_is("and") || next_is("or") || next_is("in")) unexpected("a value");
    lexer_.advance();
    if (accept("(")) return parse_call(token.text);
    if (token.text != "true" && token.text != "false") return node(Expr::Kind::name, token.text, {});
    Expr expr = node(Expr::Kind::boolean, token.text, {});
    expr.integer = token.text == "true" ? 1 : 0;
    return expr;
  }

  Expr parse_number() {
    const std::string text = lexer_.token().text;
    Expr expr;
    expr.kind = text.find_first_of(".e") == std::string::npos ? Expr::Kind::integer : Expr::Kind::real;
    const char* last = text.data() + text.size();
    const auto result = expr.is(Expr::Kind::integer) ? std::from_chars(text.data(), last, expr.integer)
                                                     : std::from_chars(text.data(), last, expr.real);
    if (result.ec != std::errc() || result.ptr != last) fail_at(source_, "'{}' is not a number", text);
    lexer_.advance();
    return expr;
  }

  Expr parse_list() {
    Expr list = node(Expr::Kind::list, "", {});
    while (!accept("]")) {
      if (!list.args.empty()) expect(",");
      list.args.push_back(parse_or());
    }
    return list;
  }

  Expr parse_call(std::string function) {
    Expr call = node(Expr::Kind::call, std::move(function), {});
    while (!accept(")")) {
      if (!call.args.empty()) expect(",");
      if (accept(kRest)) {
        call.args.push_back(node(Expr::Kind::name, kRest, {}));
        call.keywords.emplace_back(kRest);
        continue;
      }
      Expr value = parse_or();
      std::string keyword;
      if (value.is(Expr::Kind::name) && accept("=")) {
        keyword = value.text;
        value = parse_or();
      } else if (!call.keywords.empty() && !call.keywords.back().empty()) {
        fail_at(source_, "bad expression '{}': a positional argument of {} after a named one", text_, call.text);
      }
      call.args.push_back(std::move(value));
      call.keywords.push_back(std::move(keyword));
    }
    return call;
  }

  const std::string& text_;
  const Source& source_;
  Lexer lexer_;
  int depth_ = 0;
};

std::string list_text(const Expr& expr) {
  std::string text;
  for (size_t i = 0; i < expr.args.size(); ++i) {
    if (i > 0) text += ", ";
    if (!expr.keywords.empty() && !expr.keywords[i].empty() && expr.keywords[i] != kRest)
      text += expr.keywords[i] + "=";
    text += to_text(expr.args[i]);
  }
  return text;
}

}  // namespace

Expr parse_expr(const std::string& text, const Source& source) { return Parser(text, source).parse(); }

std::string to_text(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::integer: return fmt::format("{}", expr.integer);
    case Expr::Kind::real: return fmt::format("{}", expr.real);
    case Expr::Kind::text: return "'" + expr.text + "'";
    case Expr::Kind::boolean:
    case Expr::Kind::name: return expr.text;
    case Expr::Kind::list: return "[" + list_text(expr) + "]";
    case Expr::Kind::call: return expr.text + "(" + list_text(expr) + ")";
    case Expr::Kind::member: return to_text(expr.args[0]) + "." + expr.text;
    case Expr::Kind::index: return to_text(expr.args[0]) + "[" + to_text(expr.args[1]) + "]";
    case Expr::Kind::unary: return "(" + expr.text + " " + to_text(expr.args[0]) + ")";
    case Expr::Kind::binary: return "(" + to_text(expr.args[0]) + " " + expr.text + " " + to_text(expr.args[1]) + ")";
  }
  return {};
}

}  // namespace halfstep::opgen
