// Lines of comma-separated cells (RFC 4180, without line ends inside cells).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/source.h"

namespace halfstep::data {

/// Lines end with LF or CR LF. Blank lines and a byte order mark are skipped. Blanks and quotes around a cell are
/// removed. A quote inside a quoted cell is doubled.
class CsvLines {
 public:
  using Cells = std::span<const std::string_view>;

  explicit CsvLines(io::Source& source) : source_(source) {}

  /// The cells of the next line, valid until the next call. nullopt at the end. If a line has no comma, tabs separate
  /// its cells.
  std::optional<Cells> next();
  /// Position of the last line read, for example "data.csv: line 7".
  std::string where() const;
  const std::string& name() const { return source_.name(); }

 private:
  std::optional<std::string_view> next_line();
  std::string_view take(size_t end, size_t next);
  bool refill();
  void split(std::string_view line);

  io::Source& source_;
  std::string buffer_;
  size_t start_ = 0;     ///< start of the next line
  size_t searched_ = 0;  ///< no line end before this position
  int64_t number_ = 0;   ///< number of the last line read, from 1
  std::vector<std::string_view> cells_;
};

/// A cell for a message: shortened, in quotes, without control characters of terminals.
std::string shown(std::string_view cell);

/// Position of the label in a line.
struct LabelColumn {
  static constexpr size_t kNone = ~size_t{0};
  size_t index = kNone;   ///< kNone: lines have no label
  bool is_named = false;  ///< named by a header or by the user, so that labels may be words

  bool exists() const { return index != kNone; }
};

/// The label column for lines under a header: the column named `asked`, or by default "label", "labels", "class" or
/// "target". `asked` may also be first, last or none. Throws if there is no such column.
LabelColumn label_column(CsvLines::Cells header, const std::string& asked, const std::string& where);

/// Collects the labels of a file, numbers or words.
class LabelNames {
 public:
  /// Never throws. `finish` reports errors.
  void add(std::string_view label);
  struct Result {
    Tensor labels;                     ///< i32 [n]
    std::vector<std::string> classes;  ///< "0", "1", ... for numbers, else the sorted words
  };
  /// Each label must be less than `classes`, or there must be at most that many words. `where` starts the messages.
  Result finish(int64_t classes, const std::string& where) const;

 private:
  std::vector<int32_t> ids_;
  std::map<std::string, int32_t, std::less<>> known_;
};

}  // namespace halfstep::data
