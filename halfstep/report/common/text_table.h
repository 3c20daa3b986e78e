// Tables and numbers in text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace halfstep::report {

/// Columns as wide as their widest cell, two spaces apart; cells that start with a digit, sign or dot are set to the
/// right.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// A number of seven digits as "1,234,567".
std::string grouped(int64_t number);

}  // namespace halfstep::report
