#include "tests/passes/text_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "halfstep/core/base/status.h"

namespace halfstep::passes {
namespace {

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The text after `# KEY:` on a line that starts with it.
std::optional<std::string> directive(const std::string& line, const std::string& key) {
  const std::string start = "# " + key + ":";
  if (!line.starts_with(start)) return std::nullopt;
  return trimmed(std::string_view(line).substr(start.size()));
}

/// "a, b(c, d)" cut at the commas outside parentheses.
std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  std::ranges::transform(parts, parts.begin(), trimmed);
  std::erase(parts, "");
  return parts;
}

PassCall pass_call(const std::string& text) {
  const size_t open = text.find('(');
  if (open == std::string::npos) return {text, {}};
  return {text.substr(0, open), parts_of(text.substr(open + 1, text.rfind(')') - open - 1))};
}

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  void line(const std::string& text) {
    ++number_;
    if (const auto passes = directive(text, "passes")) return begin(*passes);
    if (cases_.empty()) return;
    TextCase& current = cases_.back();
    if (const auto values = directive(text, "values")) current.values = *values;
    if (const auto numbers = directive(text, "numbers")) {
      for (const std::string& part : parts_of(*numbers)) add_number(current, part);
    }
    if (const auto expect = directive(text, "expect")) {
      section_ = expect->starts_with("unchanged") ? nullptr : &TextCase::expected;
      return;
    }
    expected_error(current, text);
    if (section_ != nullptr) add(current.*section_, text);
    if (section_ == &TextCase::input && text.starts_with("graph "))
      current.name = file_.substr(0, file_.find('.')) + "." + text.substr(6, text.find('(') - 6);
  }

  std::vector<TextCase> cases() && { return std::move(cases_); }

 private:
  void begin(const std::string& passes) {
    TextCase& current = cases_.emplace_back();
    current.file = file_;
    current.line = number_;
    for (const std::string& part : parts_of(passes)) current.passes.push_back(pass_call(part));
    section_ = &TextCase::input;
  }

  void add_number(TextCase& current, const std::string& part) const {
    const size_t sign = part.find('=');
    if (sign == std::string::npos)
      fail(errors::record_wrong(fmt::format("{}:{}: found '{}', expected NAME=NUMBER", file_, number_, part)));
    current.numbers.emplace(part.substr(0, sign), std::stof(part.substr(sign + 1)));
  }

  /// Keeps line numbers: lines outside the section become empty lines in it.
  void add(std::string& section, const std::string& text) {
    section.resize(section.size() + static_cast<size_t>(number_ - 1 - std::ranges::count(section, '\n')), '\n');
    section += text + "\n";
  }

  void expected_error(TextCase& current, const std::string& text) {
    const std::string mark = "# expect-error:";
    const size_t at = text.find(mark);
    if (at == std::string::npos) return;
    if (current.error)
      fail(errors::record_wrong(fmt::format("{}:{}: found a second expected error, expected one", file_, number_)));
    current.error = ExpectedError{trimmed(std::string_view(text).substr(at + mark.size())), at == 0 ? 0 : number_};
  }

  std::string file_;
  int number_ = 0;
  std::vector<TextCase> cases_;
  std::string TextCase::*section_ = nullptr;
};

/// longest[i][j]: lines that want[i..] and got[j..] have in common, in order.
std::vector<std::vector<size_t>> common_lines(const std::vector<std::string>& want,
                                              const std::vector<std::string>& got) {
  std::vector<std::vector<size_t>> longest(want.size() + 1, std::vector<size_t>(got.size() + 1));
  for (size_t i = want.size(); i-- > 0;) {
    for (size_t j = got.size(); j-- > 0;)
      longest[i][j] = want[i] == got[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
  }
  return longest;
}

}  // namespace

std::vector<TextCase> read_cases(const std::filesystem::path& path) {
  Reader reader(path.filename().string());
  std::ifstream stream(path);
  if (!stream) fail(errors::record_wrong(fmt::format("{}: cannot be read", path.string())));
  for (std::string line; std::getline(stream, line);) reader.line(line);
  std::vector<TextCase> cases = std::move(reader).cases();
  for (const TextCase& text_case : cases) {
    if (text_case.name.empty())
      fail(errors::record_wrong(fmt::format("{}:{}: found no graph in the case", text_case.file, text_case.line)));
  }
  return cases;
}

std::string line_diff(const std::string& want, const std::string& got) {
  const std::vector<std::string> wanted = lines_of(want), found = lines_of(got);
  const auto longest = common_lines(wanted, found);
  std::string diff;
  size_t i = 0, j = 0;
  while (i < wanted.size() || j < found.size()) {
    if (i < wanted.size() && j < found.size() && wanted[i] == found[j]) {
      diff += "  " + wanted[i++] + "\n";
      ++j;
    } else if (j == found.size() || (i < wanted.size() && longest[i + 1][j] >= longest[i][j + 1])) {
      diff += "- " + wanted[i++] + "\n";
    } else {
      diff += "+ " + found[j++] + "\n";
    }
  }
  return diff;
}

}  // namespace halfstep::passes
