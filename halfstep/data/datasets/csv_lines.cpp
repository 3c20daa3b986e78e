#include "halfstep/data/datasets/csv_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/data/datasets/csv.h"
#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

}  // namespace

std::string CsvLines::where() const { return fmt::format("{}: line {}", source_.name(), number_); }

std::optional<CsvLines::Cells> CsvLines::next() {
  while (auto line = next_line()) {
    if (number_ == 1 && line->starts_with("\xEF\xBB\xBF")) line->remove_prefix(3);
    if (trimmed(*line).empty()) continue;
    split(*line);
    return cells_;
  }
  return std::nullopt;
}

std::optional<std::string_view> CsvLines::next_line() {
  constexpr size_t kMaxLine = size_t{1} << 20;
  while (true) {
    const size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) return take(end, end + 1);
    searched_ = buffer_.size();
    if (buffer_.size() - start_ > kMaxLine)
      fail(errors::csv_too_large(fmt::format("{}: line {}", source_.name(), number_ + 1),
                                 fmt::format("more than {} bytes", kMaxLine), "comma-separated numbers"));
    if (refill()) continue;
    if (start_ == buffer_.size()) return std::nullopt;
    return take(buffer_.size(), buffer_.size());
  }
}

std::string_view CsvLines::take(size_t end, size_t next) {
  std::string_view line = std::string_view(buffer_).substr(start_, end - start_);
  start_ = searched_ = next;
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool CsvLines::refill() {
  constexpr size_t kChunk = size_t{1} << 16;
  buffer_.erase(0, start_);
  searched_ -= start_;
  start_ = 0;
  const size_t end = buffer_.size();
  buffer_.resize(end + kChunk);
  const size_t got = source_.read(std::as_writable_bytes(std::span(buffer_).subspan(end)));
  buffer_.resize(end + got);
  return got > 0;
}

void CsvLines::split(std::string_view line) {
  const char separator = line.find(',') == std::string_view::npos ? '\t' : ',';
  cells_.clear();
  while (true) {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    size_t end = line.find(separator);
    if (begin < line.size() && line[begin] == '"') {
      size_t close = line.find('"', begin + 1);
      while (close != std::string_view::npos && line.substr(close).starts_with("\"\""))
        close = line.find('"', close + 2);
      if (close == std::string_view::npos)
        fail(errors::csv_quote(where(), "the end of the line in a quoted cell", "its closing quote"));
      end = line.find(separator, close);
      if (!trimmed(line.substr(close + 1, (end == std::string_view::npos ? line.size() : end) - close - 1)).empty())
        fail(errors::csv_quote(where(), "text after a quoted cell", "a comma"));
      cells_.push_back(line.substr(begin + 1, close - begin - 1));
    } else {
      cells_.push_back(trimmed(line.substr(0, end)));
    }
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

std::string shown(std::string_view cell) {
  constexpr size_t kMost = 32;
  std::string text(cell.substr(0, kMost));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return "'" + text + "'" + (cell.size() > kMost ? "..." : "");
}

LabelColumn label_column(CsvLines::Cells header, const std::string& asked, const std::string& where) {
  if (asked == "none") return {};
  if (asked == "first") return {0, true};
  if (asked == "last") return {header.size() - 1, true};
  std::vector<std::string> names;
  for (const std::string_view cell : header) names.push_back(asked.empty() ? lower(cell) : std::string(cell));
  const std::vector<std::string> wanted =
      asked.empty() ? std::vector<std::string>{"label", "labels", "class", "target"} : std::vector{asked};
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return {static_cast<size_t>(found - names.begin()), true};
  }
  if (asked.empty()) return {};
  fail(errors::column_missing(where, asked, did_you_mean(asked, names)));
}

void LabelNames::add(std::string_view label) {
  auto found = known_.find(label);
  if (found == known_.end()) found = known_.emplace(label, static_cast<int32_t>(known_.size())).first;
  ids_.push_back(found->second);
}

LabelNames::Result LabelNames::finish(int64_t classes, const std::string& where) const {
  std::vector<int32_t> values(known_.size());
  bool numbers = true;
  for (const auto& [text, id] : known_) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), values[static_cast<size_t>(id)]);
    numbers = numbers && error == std::errc() && end == text.data() + text.size();
  }
  Result result{Tensor(DType::i32, {static_cast<int64_t>(ids_.size())}), {}};
  if (!numbers) {
    if (std::cmp_greater(known_.size(), classes)) fail(errors::too_many_classes(where, known_.size(), classes));
    for (const auto& [text, id] : known_) {
      values[static_cast<size_t>(id)] = static_cast<int32_t>(result.classes.size());
      result.classes.push_back(text);
    }
  }
  const auto to = result.labels.data<int32_t>();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = values[static_cast<size_t>(ids_[i])];
    if (to[i] < 0 || to[i] >= classes) fail(errors::label_out_of_range(where, i, to[i], classes - 1));
  }
  if (numbers) result.classes = number_names(result.labels, classes);
  return result;
}

}  // namespace halfstep::data
