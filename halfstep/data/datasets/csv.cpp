#include "halfstep/data/datasets/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "halfstep/data/datasets/csv_lines.h"
#include "halfstep/data/datasets/errors.h"

namespace halfstep::data {
namespace {

using Cells = CsvLines::Cells;

template <class T>
bool parse_cell(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_header(Cells cells) {
  const auto is_word = [](std::string_view cell) {
    float value = 0;
    return !parse_cell(cell, value);
  };
  const bool says_label = std::ranges::any_of(cells, [](std::string_view cell) { return cell == "label"; });
  return says_label || (std::ranges::all_of(cells, is_word) && !cells.back().empty());
}

/// Whether a column of a file without a header looks like labels, by its first lines.
struct ColumnHabit {
  std::set<int64_t> values;
  bool are_labels = true;

  void add(std::string_view cell, int64_t classes) {
    int64_t value = 0;
    are_labels = are_labels && parse_cell(cell, value) && value >= 0 && value < classes;
    values.insert(value);
  }
  bool tells_apart() const { return are_labels && values.size() > 1; }
};

class CsvReader {
 public:
  CsvReader(io::Source& source, int64_t classes, const std::string& label)
      : lines_(source), classes_(classes), asked_(label) {}

  LabelledData read() {
    read_start();
    while (const auto cells = lines_.next()) read_line(*cells, lines_.where());
    if (count_ == 0) fail(errors::no_samples(lines_.name(), "lines of pixels and a label"));
    const auto columns = static_cast<int64_t>(values_.size()) / count_;
    LabelledData data{Tensor::of<float>(DType::f32, {count_, columns}, values_), {}};
    if (!label_.exists()) return data;
    auto [labels, names] = names_.finish(classes_, lines_.name());
    data.labels = std::move(labels);
    data.classes = std::move(names);
    return data;
  }

 private:
  struct Line {
    std::string where;
    std::vector<std::string> cells;
  };

  /// Reads the header, or enough lines to find the label column.
  void read_start() {
    constexpr size_t kMostCells = size_t{1} << 18;
    std::vector<Line> start;
    for (size_t held = 0; held < kMostCells; held += start.back().cells.size()) {
      const auto cells = lines_.next();
      if (!cells) break;
      if (start.empty() && is_header(*cells)) return read_header(*cells);
      start.push_back({lines_.where(), {cells->begin(), cells->end()}});
      if (!asked_.empty()) break;
    }
    if (start.empty()) return;
    find_label(start);
    for (const Line& line : start) {
      const std::vector<std::string_view> cells(line.cells.begin(), line.cells.end());
      read_line(cells, line.where);
    }
  }

  void read_header(Cells cells) {
    width_ = cells.size();
    label_ = label_column(cells, asked_, lines_.where());
    if (cells.front().empty() && label_.index != 0) counts_lines_ = true;
  }

  void find_label(const std::vector<Line>& start) {
    width_ = start.front().cells.size();
    if (!asked_.empty()) {
      const std::vector<std::string_view> unnamed(width_);
      label_ = label_column(unnamed, asked_, lines_.name());
      return;
    }
    ColumnHabit first, last;
    for (const Line& line : start) {
      first.add(line.cells.front(), classes_);
      last.add(line.cells.back(), classes_);
    }
    int64_t value = 0;
    const bool last_is_none = !parse_cell(start.front().cells.back(), value) || last.values.size() == 1;
    label_.index = first.tells_apart() && last_is_none ? 0 : width_ - 1;
  }

  void read_line(Cells cells, const std::string& where) {
    if (width_ < (label_.exists() ? 2U : 1U)) fail(errors::csv_cells(where, 1, "pixels and a label"));
    if (cells.size() != width_)
      fail(errors::csv_cells(where, cells.size(), fmt::format("{}, as in the line before it", width_)));
    for (size_t column = counts_lines_ ? 1 : 0; column < width_; ++column) {
      if (column == label_.index) {
        add_label(cells[column], where, column);
      } else {
        add_value(cells[column], where, column);
      }
    }
    ++count_;
  }

  void add_value(std::string_view cell, const std::string& where, size_t column) {
    constexpr size_t kMaxValues = size_t{1} << 28;  // 1 GiB of f32: limits the data in a small compressed file
    float value = 0;
    if (!parse_cell(cell, value) || !std::isfinite(value))
      fail(errors::csv_number(fmt::format("{}, column {}", where, column + 1), shown(cell)));
    if (values_.size() == kMaxValues)
      fail(errors::csv_too_large(where, "more numbers", fmt::format("at most {} in the file", kMaxValues)));
    values_.push_back(value);
  }

  void add_label(std::string_view cell, const std::string& where, size_t column) {
    int64_t label = 0;
    if (!label_.is_named && (!parse_cell(cell, label) || label < 0 || label >= classes_))
      fail(errors::csv_label(fmt::format("{}, column {}", where, column + 1), shown(cell), classes_ - 1));
    names_.add(cell);
  }

  CsvLines lines_;
  int64_t classes_, count_ = 0;
  const std::string& asked_;
  size_t width_ = 0;
  LabelColumn label_;
  bool counts_lines_ = false;  ///< true if the first column counts lines
  std::vector<float> values_;
  LabelNames names_;
};

}  // namespace

std::vector<std::string> number_names(const Tensor& labels, int64_t classes) {
  const auto values = labels.data<int32_t>();
  if (classes == kMaxClasses) classes = values.empty() ? 0 : *std::max_element(values.begin(), values.end()) + 1;
  std::vector<std::string> names;
  for (int64_t i = 0; i < classes; ++i) names.push_back(std::to_string(i));
  return names;
}

LabelledData read_csv(io::Source& source, int64_t classes, const std::string& label) {
  return CsvReader(source, classes, label).read();
}

}  // namespace halfstep::data
