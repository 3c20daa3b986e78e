#include "halfstep/engine/losses/loss_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/losses/errors.h"

namespace halfstep::losses {
namespace {

constexpr std::string_view kWeight = "weight", kIgnore = "ignore", kReduction = "reduction";

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> keys_of(const LossInfo& info) {
  std::vector<std::string> keys;
  for (const Operand& operand : info.operands) keys.push_back(operand.name);
  for (const Option& option : info.options) keys.push_back(option.name);
  for (const std::string_view key : {kWeight, kIgnore, kReduction}) keys.emplace_back(key);
  return keys;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  LossText terms() {
    LossText terms = {term()};
    while (take('+')) terms.push_back(term());
    if (at_ < text_.size()) refuse("'+' or the end");
    return terms;
  }

 private:
  [[noreturn]] void refuse(const char* expected) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    fail(errors::loss_text_malformed(quote(text_), at_ + 1, rest.empty() ? "the end" : quote(rest.substr(0, 1)),
                                     expected));
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }

  bool take(char wanted) {
    skip();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  /// The longest piece without these characters and without spaces at its end.
  std::string_view piece(std::string_view ends) {
    skip();
    const size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    std::string_view found = text_.substr(begin, at_ - begin);
    while (!found.empty() && std::isspace(static_cast<unsigned char>(found.back())) != 0) found.remove_suffix(1);
    return found;
  }

  double factor() {
    skip();
    const size_t begin = at_;
    const auto number = number_in(piece("+*(),="));
    if (number && *number > 0 && *number < 1e30) return *number;
    at_ = begin;
    refuse("a factor above 0");
  }

  Term term() {
    Term term;
    skip();
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '.')) {
      term.factor = factor();
      if (!take('*')) refuse("'*'");
    }
    const size_t begin = at_;
    const std::string_view name = piece("+*(),=");
    if (name.empty()) {
      at_ = begin;
      refuse("the name of a loss");
    }
    term.info = &require_loss(name);
    for (const Option& option : term.info->options) term.options.push_back(option.value);
    if (take('(') && !take(')')) {
      do setting(term);
      while (take(','));
      if (!take(')')) refuse("',' or ')'");
    }
    if (take('*')) term.factor *= factor();
    return term;
  }

  std::string value() {
    skip();
    if (!take('"')) return std::string(piece(",()"));
    const size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) refuse("a closing quotation mark");
    std::string found(text_.substr(at_, end - at_));
    at_ = end + 1;
    return found;
  }

  void setting(Term& term) {
    const std::string key(piece("=,()"));
    if (!take('=')) refuse("KEY=VALUE");
    set(term, key, value());
  }

  static double number_of(const Term& term, const std::string& key, const std::string& value) {
    if (const auto number = number_in(value)) return *number;
    fail(errors::loss_option_value(term.info->name, key, value, "a number"));
  }

  static void set(Term& term, const std::string& key, const std::string& value) {
    const LossInfo& info = *term.info;
    const auto option = std::ranges::find(info.options, key, &Option::name);
    const bool is_operand =
        key == kWeight || std::ranges::find(info.operands, key, &Operand::name) != info.operands.end();
    if (option != info.options.end()) {
      const double number = number_of(term, key, value);
      option->range.require(fmt::format("loss: {}: {}", info.name, key), number);
      term.options[static_cast<size_t>(option - info.options.begin())] = number;
    } else if (is_operand) {
      if (value.empty()) fail(errors::loss_option_value(info.name, key, value, "a name"));
      term.operands[key] = value;
    } else if (key == kIgnore) {
      term.ignore = number_of(term, key, value);
    } else if (key == kReduction) {
      term.reduction = parse_reduction(value);
      if (term.reduction == Reduction::none) fail(errors::loss_option_value(info.name, key, value, "mean or sum"));
    } else {
      fail(errors::loss_option_unknown(info.name, key, known_names(key, keys_of(info))));
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

LossText parse_loss(std::string_view text) { return Reader(text).terms(); }

Reduction parse_reduction(std::string_view text) {
  if (text == "mean") return Reduction::mean;
  if (text == "sum") return Reduction::sum;
  if (text == "none") return Reduction::none;
  fail(errors::loss_reduction_unknown(text));
}

}  // namespace halfstep::losses
