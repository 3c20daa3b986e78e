// Lines of comma-separated cells (RFC 4180 without line ends inside of cells).
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

/// Lines end with LF or CR LF; blank ones and a byte order mark are passed over. Blanks around a cell do not count, and
/// quotes around it are taken away; a quote inside of them is doubled.
class CsvLines {
 public:
  using Cells = std::span<const std::string_view>;

  explicit CsvLines(io::Source& source) : source_(source) {}

  /// The cells of the next line, valid until the next call; nothing at the end. Without a comma, tabs separate them.
  std::optional<Cells> next();
  /// "data.csv: line 7", the line last taken.
  std::string where() const;
  const std::string& name() const { return source_.name(); }

 private:
  std::optional<std::string_view> next_line();
  std::string_view take(size_t end, size_t next);
  bool refill();
  void split(std::string_view line);

  io::Source& source_;
  std::string buffer_;
  size_t start_ = 0;     ///< of the next line
  size_t searched_ = 0;  ///< no line end before here
  int64_t number_ = 0;   ///< of the line last taken, from 1
  std::vector<std::string_view> cells_;
};

/// A cell in a message: short, in quotes, and nothing that a terminal would act on.
std::string shown(std::string_view cell);

/// Where the label of a line stands.
struct LabelColumn {
  static constexpr size_t kNone = ~size_t{0};
  size_t index = kNone;   ///< kNone: lines have no label
  bool is_named = false;  ///< by a header or by the user; labels may then be words

  bool exists() const { return index != kNone; }
};

/// Of lines under a header: the column that `asked` names, or without it "label", "labels", "class" or "target".
/// `asked` may also be first, last or none. Throws where there is no such column.
LabelColumn label_column(CsvLines::Cells header, const std::string& asked, const std::string& where);

/// Labels as a file has them, numbers or words.
class LabelNames {
 public:
  /// Throws nothing; what is wrong with them is said by `finish`.
  void add(std::string_view label);
  struct Result {
    Tensor labels;                     ///< i32 [n]
    std::vector<std::string> classes;  ///< "0", "1", ... for numbers, else the words, sorted
  };
  /// `classes`: a label is less than that, or there are no more words. `where` starts the messages.
  Result finish(int64_t classes, const std::string& where) const;

 private:
  std::vector<int32_t> ids_;
  std::map<std::string, int32_t, std::less<>> known_;
};

}  // namespace halfstep::data
