#include "halfstep/io/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace halfstep::io {
namespace {

/// Lines without their end, LF or CR LF.
class Lines {
 public:
  explicit Lines(Source& source) : source_(source) {}

  /// The next line; valid until the next call.
  std::optional<std::string_view> next() {
    constexpr size_t kMaxLine = size_t{1} << 20;
    while (true) {
      const size_t end = buffer_.find('\n', searched_);
      if (end != std::string::npos) return take(end, end + 1);
      searched_ = buffer_.size();
      if (buffer_.size() - start_ > kMaxLine)
        fail("{}: line {}: longer than {} bytes, expected comma-separated numbers", source_.name(), number_ + 1,
             kMaxLine);
      if (refill()) continue;
      if (start_ == buffer_.size()) return std::nullopt;
      return take(buffer_.size(), buffer_.size());
    }
  }
  int64_t number() const { return number_; }

 private:
  std::string_view take(size_t end, size_t next) {
    std::string_view line = std::string_view(buffer_).substr(start_, end - start_);
    start_ = searched_ = next;
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  bool refill() {
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

  Source& source_;
  std::string buffer_;
  size_t start_ = 0;     ///< of the next line
  size_t searched_ = 0;  ///< no line end before here
  int64_t number_ = 0;   ///< of the line last taken, from 1
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Cells in messages: short, and nothing that a terminal would act on.
std::string shown(std::string_view cell) {
  constexpr size_t kMost = 32;
  std::string text(cell.substr(0, kMost));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return "'" + text + "'" + (cell.size() > kMost ? "..." : "");
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class CsvReader {
 public:
  CsvReader(Source& source, int64_t classes) : source_(source), lines_(source), classes_(classes) {}

  LabelledData read() {
    while (const auto line = lines_.next()) {
      const std::string_view text = lines_.number() == 1 && line->starts_with("\xEF\xBB\xBF") ? line->substr(3) : *line;
      if (!trimmed(text).empty()) read_line(text);
    }
    if (labels_.empty()) fail("{}: the file is empty, expected lines of pixels and a label", source_.name());
    const auto count = static_cast<int64_t>(labels_.size());
    return {Tensor::of<float>(DType::f32, {count, columns_}, values_),
            Tensor::of<int32_t>(DType::i32, {count}, labels_)};
  }

 private:
  void read_line(std::string_view line) {
    const auto cells = static_cast<int64_t>(std::count(line.begin(), line.end(), ',')) + 1;
    if (labels_.empty()) columns_ = cells - 1;
    if (columns_ == 0) fail("{}: 1 cell, expected pixels and a label", where());
    if (cells != columns_ + 1) {
      const bool labelled = cells > columns_;
      fail("{}: {} and {} label, expected {} and a label", where(), counted(labelled ? cells - 1 : cells, "pixel"),
           labelled ? "a" : "no", counted(columns_, "pixel"));
    }
    for (int64_t column = 1; column <= cells; ++column) {
      const size_t comma = line.find(',');
      const std::string_view cell = trimmed(line.substr(0, comma));
      if (column < cells) {
        add_value(cell, column);
        line.remove_prefix(comma + 1);
      } else {
        add_label(cell, column);
      }
    }
  }

  void add_value(std::string_view cell, int64_t column) {
    constexpr size_t kMaxValues = size_t{1} << 28;  // 1 GiB: what a small compressed file may grow to
    float value = 0;
    if (!parse(cell, value) || !std::isfinite(value))
      fail("{}, column {}: found {}, expected a number", where(), column, shown(cell));
    if (values_.size() == kMaxValues) fail("{}: more than {} numbers in the file", where(), kMaxValues);
    values_.push_back(value);
  }

  void add_label(std::string_view cell, int64_t column) {
    int64_t label = 0;
    if (!parse(cell, label) || label < 0 || label >= classes_)
      fail("{}, column {}: found label {}, expected a whole number from 0 to {}", where(), column, shown(cell),
           classes_ - 1);
    labels_.push_back(static_cast<int32_t>(label));
  }

  std::string where() const { return fmt::format("{}: line {}", source_.name(), lines_.number()); }

  Source& source_;
  Lines lines_;
  int64_t classes_;
  int64_t columns_ = 0;
  std::vector<float> values_;
  std::vector<int32_t> labels_;
};

}  // namespace

LabelledData read_csv(Source& source, int64_t classes) { return CsvReader(source, classes).read(); }

}  // namespace halfstep::io
