#include "halfstep/report/common/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace halfstep::report {
namespace {

bool is_number(const std::string& cell) {
  if (cell.empty()) return true;
  const char first = cell[0] == '-' && cell.size() > 1 ? cell[1] : cell[0];
  return std::isdigit(static_cast<unsigned char>(first)) != 0 || cell == "-" || cell == "inf";
}

}  // namespace

std::string Table::text() const {
  std::vector<size_t> widths(rows_[0].size(), 0);
  std::vector<bool> right(rows_[0].size(), true);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], rows_[r][c].size());
      if (r > 0 && !is_number(rows_[r][c])) right[c] = false;
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < widths.size(); ++c)
      line += right[c] ? fmt::format("{:>{}}  ", row[c], widths[c]) : fmt::format("{:<{}}  ", row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace halfstep::report
