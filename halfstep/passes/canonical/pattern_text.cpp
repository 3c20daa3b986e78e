#include "halfstep/passes/canonical/pattern_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/errors.h"

namespace halfstep::passes {
namespace {

using Kind = PatternExpr::Kind;

class PatternReader {
 public:
  PatternReader(std::string_view text, const std::string& file) : text_(text), file_(file) { skip(); }

  std::vector<Pattern> read() {
    std::vector<Pattern> patterns;
    while (at_ < text_.size()) {
      Pattern pattern;
      pattern.from = sum();
      expect("=>");
      pattern.to = call(word());
      take_numbers(pattern.from, pattern.to);
      patterns.push_back(std::move(pattern));
    }
    return patterns;
  }

 private:
  [[noreturn]] void fail_here(std::string_view expected) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    const std::string_view found = text_.substr(at_, 12);
    fail(errors::pattern_syntax(fmt::format("{}:{}", file_, line), found.substr(0, found.find('\n')), expected));
  }

  void skip() {
    while (at_ < text_.size() && (std::isspace(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '#')) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      ++at_;
    }
  }
  bool sees(std::string_view symbol) const { return text_.substr(at_).starts_with(symbol); }
  bool accept(std::string_view symbol) {
    if (!sees(symbol)) return false;
    at_ += symbol.size();
    skip();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!accept(symbol)) fail_here("'" + std::string(symbol) + "'");
  }
  bool sees_word() const { return at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0; }
  bool sees_number() const { return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0; }

  std::string word() {
    if (!sees_word()) fail_here("a name");
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    std::string found(text_.substr(begin, at_ - begin));
    skip();
    return found;
  }
  double number() {
    double value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail_here("a number");
    at_ = static_cast<size_t>(end - text_.data());
    skip();
    return value;
  }

  PatternExpr sum() {
    PatternExpr all{Kind::sum, {}, 0, {}};
    bool minus = false;
    do {
      if (sees_number()) {
        all.constant += minus ? -number() : number();
      } else {
        all.parts.push_back({product(), minus});
      }
    } while ((minus = accept("-")) || accept("+"));
    return simplified(std::move(all), 0);
  }

  PatternExpr product() {
    PatternExpr all{Kind::product, {}, 1, {}};
    bool inverse = false;
    do {
      if (sees_number()) {
        const double factor = number();
        all.constant *= inverse ? 1 / factor : factor;
      } else {
        all.parts.push_back(factor(inverse));
      }
    } while ((inverse = sees("/") && accept("/")) || accept("*"));
    return simplified(std::move(all), 1);
  }

  /// Replaces an expression by its only part if nothing else is applied to it.
  static PatternExpr simplified(PatternExpr all, double neutral) {
    const bool plain = all.parts.size() == 1 && all.constant == neutral && !all.parts[0].inverse && !all.parts[0].root;
    if (!plain) return all;
    PatternExpr only = std::move(all.parts[0].expr);
    return only;
  }

  PatternPart factor(bool inverse) {
    if (accept("(")) {
      PatternPart part{sum(), inverse};
      expect(")");
      return part;
    }
    if (accept("@")) return {{Kind::tensor, word(), 0, {}}, inverse};
    std::string name = word();
    if (!sees("(")) return {{Kind::value, std::move(name), 0, {}}, inverse};
    PatternExpr found = call(name);
    if (found.op != &ops::Sqrt::record()) return {std::move(found), inverse};
    return {std::move(found.parts[0].expr), inverse, true};
  }

  PatternExpr call(const std::string& name) {
    PatternExpr made{Kind::call, {}, 0, {}};
    made.op = &require_operator(name, file_);
    expect("(");
    do {
      argument(made);
    } while (accept(","));
    expect(")");
    return made;
  }

  void argument(PatternExpr& made) {
    const size_t begin = at_;
    if (sees_word()) {
      const std::string name = word();
      if (!sees("=>") && accept("=")) {
        if (made.op->attribute(name) == nullptr) fail_here("another name: there is no attribute " + name);
        made.attributes.emplace(name, attribute());
        return;
      }
      at_ = begin;
    }
    made.parts.push_back({sum()});
  }

  PatternAttribute attribute() {
    if (sees_number()) return {PatternAttribute::Kind::literal, number(), {}};
    const std::string name = word();
    if (name == "true" || name == "false") return {PatternAttribute::Kind::literal, name == "true", {}};
    if (!accept("(")) return {PatternAttribute::Kind::name, {}, name};
    if (name != "tail" && name != "only") fail_here("tail(NAME) or only(NAME)");
    PatternAttribute axes{name == "tail" ? PatternAttribute::Kind::tail : PatternAttribute::Kind::only, {}, word()};
    expect(")");
    return axes;
  }

  /// Turns names in sums into numbers if the result takes them as numbers.
  static void take_numbers(PatternExpr& expr, const PatternExpr& result) {
    const auto is_number = [&](const PatternPart& part) {
      return part.expr.kind == Kind::value && std::ranges::any_of(result.attributes, [&](const auto& attribute) {
               return attribute.second.kind == PatternAttribute::Kind::name && attribute.second.name == part.expr.name;
             });
    };
    if (expr.kind == Kind::sum) {
      if (const auto found = std::ranges::find_if(expr.parts, is_number); found != expr.parts.end()) {
        expr.name = found->expr.name;
        expr.parts.erase(found);
      }
    }
    for (PatternPart& part : expr.parts) take_numbers(part.expr, result);
  }

  std::string_view text_;
  std::string file_;
  size_t at_ = 0;
};

}  // namespace

std::vector<Pattern> parse_patterns(std::string_view text, const std::string& file) {
  return PatternReader(text, file).read();
}

const std::vector<Pattern>& all_patterns() {
  static const std::vector<Pattern> kPatterns = [] {
    const std::string path = "halfstep/passes/canonical/patterns.txt";
    const auto bytes = embedded(path);
    return parse_patterns({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  }();
  return kPatterns;
}

}  // namespace halfstep::passes
