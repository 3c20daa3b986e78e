// Tables and numbers in text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace halfstep::report {

/// A table with columns as wide as their widest cell, separated by two spaces. A cell that starts with a digit, sign or
/// dot is right-aligned.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// A number with thousands separators, for example "1,234,567".
std::string grouped(int64_t number);

}  // namespace halfstep::report
