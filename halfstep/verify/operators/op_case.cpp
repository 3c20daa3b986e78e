#include "halfstep/verify/operators/op_case.h"

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/text/text_reader.h"
#include "halfstep/verify/operators/problem.h"

namespace halfstep::verify {
namespace {

/// Returns the text before `separator`, and sets `text` to the rest.
std::string_view cut(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return before;
}

/// PORT=[NUMBER, ...]
void read_numbers(std::map<std::string, std::vector<double>>& numbers, std::string_view text) {
  detail::TextReader reader(text, "numbers of a port");
  const std::string port = reader.key("a port").text;
  reader.expect('=');
  numbers[port] = std::get<std::vector<double>>(reader.attribute());
}

class TestReader {
 public:
  explicit TestReader(std::string_view text) : rest_(text) {
    test_.op = cut(rest_, '\n');
    info_ = &require_operator(test_.op, "test of a record");
  }

  OpTest read() {
    while (!rest_.empty()) {
      std::string_view line = cut(rest_, '\n');
      const std::string_view word = cut(line, ' ');
      take(word, line);
    }
    return std::move(test_);
  }

 private:
  void take(std::string_view word, std::string_view what) {
    if (word == "case") {
      test_.cases.push_back(parse_use(*info_, what));
    } else if (word == "reject") {
      const std::string rule(cut(what, ' '));
      test_.rejects.push_back({rule, parse_use(*info_, what)});
    } else if (word == "same_bits") {
      HS_CHECK(what == "levels" || what == "threads" || what == "devices");
      (what == "levels" ? test_.levels : what == "threads" ? test_.threads : test_.devices) = true;
    } else if (word == "tolerance") {
      test_.tolerance = std::get<double>(detail::TextReader(what, "tolerance").attribute());
    } else if (word == "no_gradient") {
      test_.no_gradient_check = std::get<std::string>(detail::TextReader(what, "no_gradient").attribute());
    } else if (word == "without_gradient") {
      test_.without_gradient = std::get<std::string>(detail::TextReader(what, "without_gradient").attribute());
    } else if (word == "domain") {
      read_numbers(test_.domain, what);
    } else if (word == "special") {
      read_numbers(test_.special, what);
    } else {
      HS_CHECK(word == "values");
      read_numbers(test_.values, what);
    }
  }

  OpTest test_;
  const OpInfo* info_;
  std::string_view rest_;
};

}  // namespace

std::span<const OpTest> op_tests() {
  static const std::vector<OpTest> kTests = [] {
    std::vector<OpTest> read;
    for (const std::string_view text : op_test_texts()) read.push_back(TestReader(text).read());
    return read;
  }();
  return kTests;
}

const OpTest& op_test(std::string_view op) {
  static const OpTest kNone;
  const auto tests = op_tests();
  const auto found = std::ranges::lower_bound(tests, op, {}, &OpTest::op);
  return found != tests.end() && found->op == op ? *found : kNone;
}

}  // namespace halfstep::verify
