// Every option of every subcommand, as the help lists it. An empty word, a number outside the stated range and an
// unknown choice are refused before any work. The error names the option and the expected value.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/npz.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

using Words = std::vector<std::string>;

struct Option {
  Words names;             ///< "--epochs"; "--bgr", "--no-bgr"; "model"
  std::string type = {};   ///< "INT", "{bin,npy}"; empty: a flag
  std::string about = {};  ///< help text: "passes over the training samples [1 to 1000000] (default: 20)"
  size_t position = 0;     ///< 1-based index of a positional option; 0: not positional

  const std::string& name() const { return names.back(); }
  bool is_number() const { return type == "INT" || type == "NUMBER"; }
  bool is_whole() const { return type == "INT"; }
  bool is_required() const { return about.ends_with("(required)"); }
};

Words split(const std::string& text) {
  Words words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(word);
  return words;
}

/// Options listed in a help text: two spaces, names, the type, and a sentence behind it or on the lines below.
std::vector<Option> options_in(const std::string& help) {
  std::vector<Option> found;
  size_t position = 0;
  bool is_positional = false;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line) && line != "Examples:";) {
    if (line.ends_with(':')) is_positional = line == "Arguments:";
    std::smatch match;
    if (line.starts_with("          ")) {
      found.back().about += " " + line.substr(line.find_first_not_of(' '));
    } else if (std::regex_match(line, match, std::regex("  ([^ ]+)( [^ ]+)?( {2,}(.*))?"))) {
      found.push_back({split(match[1]), match[2].str().substr(match[2].length() > 0 ? 1 : 0), match[4]});
      if (is_positional) found.back().position = ++position;
    }
  }
  return found;
}

Words commands_in(const std::string& help) {
  Words names;
  std::istringstream lines(help.substr(help.find("Subcommands:\n") + 13));
  for (std::string line; std::getline(lines, line) && line.starts_with("  ");)
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
  return names;
}

/// The choices in "{a,b}".
Words choices_of(const Option& option) {
  return option.type.starts_with('{') && option.type.ends_with('}')
             ? split(option.type.substr(1, option.type.size() - 2))
             : Words();
}

struct Range {
  double least, most;
  bool above = false, below = false;
  std::string text = {};
};

/// The range in brackets after the sentence.
std::optional<Range> range_of(const Option& option) {
  const std::string number = "(-?[0-9][0-9.]*(?:e[+-]?[0-9]+)?)";
  std::smatch match;
  if (std::regex_search(option.about, match, std::regex("\\[(" + number + " to " + number + ")[ \\]]")))
    return Range{std::stod(match[2]), std::stod(match[3]), false, false, match[1]};
  const std::regex ends("\\[((above|at least) " + number + " and (below|at most) " + number + ")[ \\]]");
  if (std::regex_search(option.about, match, ends))
    return Range{std::stod(match[3]), std::stod(match[5]), match[2] == "above", match[4] == "below", match[1]};
  if (std::regex_search(option.about, match, std::regex("\\[(at least " + number + ")[ \\]]")))
    return Range{std::stod(match[2]), 1e18, false, false, match[1]};
  return std::nullopt;
}

/// Whether a message names that word, as it was given or as its number.
bool is_about(const Diagnostic& one, const std::string& word) {
  if (one.found == "'" + word + "'") return true;
  try {
    const double given = std::stod(word);
    return std::stod(one.found) == given || (std::isnan(given) && one.found == "nan");
  } catch (const std::exception&) {
    return false;
  }
}

class Options : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    workspace = new test::Workspace;
    for (const std::string& command : commands_in(workspace->expect(0, {"--help"}).out))
      options.emplace_back(command, options_in(workspace->expect(0, {command, "--help-all"}).out));
    ASSERT_GE(options.size(), 19U);
  }
  static void TearDownTestSuite() { delete workspace; }

  /// Runs `check` on every option that takes a value.
  template <class Check>
  static void for_each(Check check) {
    size_t count = 0;
    for (const auto& [command, all] : options) {
      for (const Option& option : all) {
        if (option.type.empty()) continue;
        check(command, option);
        ++count;
      }
    }
    EXPECT_GT(count, 300U) << "the help lists its options in another way";
  }

  /// The command with this word for the option.
  static Words with(const std::string& command, const Option& option, const std::string& word) {
    if (option.position == 0)
      return word.empty() ? Words{command, option.name(), word} : Words{command, option.name() + "=" + word};
    Words words = {command};
    for (const auto& [name, all] : options) {
      for (const Option& before : all) {
        if (name != command || before.position == 0 || before.position >= option.position) continue;
        const Words choices = choices_of(before);
        words.push_back(choices.empty() ? "nothing" : choices.front());
      }
    }
    words.push_back(word);
    return words;
  }

  static void expect_refused(const std::string& command, const Option& option, const std::string& word,
                             const std::string& expected) {
    const Words words = with(command, option, word);
    SCOPED_TRACE(testing::PrintToString(words));
    const auto found = workspace->errors(2, words);
    // Missing arguments are named in the same report.
    const auto one = std::ranges::find_if(found, [](const Diagnostic& each) {
      return each.entry != &errors::argument_missing_entry && each.entry != &errors::option_needs_another_entry;
    });
    ASSERT_NE(one, found.end());
    const bool is_positional = option.position > 0;
    EXPECT_TRUE(std::ranges::any_of(option.names, [&](const std::string& name) {
      return is_positional ? one->where.starts_with(command) : one->where.ends_with(name);
    })) << one->message();
    EXPECT_TRUE(is_about(*one, word)) << one->message();
    EXPECT_NE(one->expected.find(expected), std::string::npos) << one->message();
    EXPECT_TRUE(test::listing(workspace->path()).empty()) << "files were left behind";
  }

  static inline test::Workspace* workspace = nullptr;
  static inline std::vector<std::pair<std::string, std::vector<Option>>> options;
};

TEST_F(Options, EmptyWordsAreRefused) {
  for_each([](const std::string& command, const Option& option) { expect_refused(command, option, "", ""); });
}

TEST_F(Options, NumbersOutOfRangeAreRefused) {
  for_each([](const std::string& command, const Option& option) {
    if (!option.is_number()) return;
    const auto range = range_of(option);
    ASSERT_TRUE(range) << command << " " << option.name() << " states no range: " << option.type;
    const double step = option.is_whole() ? 1 : 1e-3 * std::max(1.0, std::fabs(range->most));
    Words wrong = {"x",
                   "nan",
                   "inf",
                   "-1e300",
                   "1e300",
                   fmt::format("{:.17g}", range->least - step),
                   fmt::format("{:.17g}", range->most + step)};
    if (option.is_whole()) wrong.emplace_back("0.5");
    if (range->above) wrong.push_back(fmt::format("{:g}", range->least));
    if (range->below) wrong.push_back(fmt::format("{:g}", range->most));
    // Doubles of that size have no integer one above.
    if (range->most > 1e15) std::erase(wrong, fmt::format("{:.17g}", range->most + step));
    for (const std::string& word : wrong) expect_refused(command, option, word, range->text);
  });
}

TEST_F(Options, ChoicesThatThereAreNotAreRefused) {
  for_each([](const std::string& command, const Option& option) {
    const Words choices = choices_of(option);
    if (!choices.empty()) expect_refused(command, option, "none of them", choices.front());
  });
}

TEST_F(Options, WhatIsRequiredIsNamed) {
  for (const auto& [command, all] : options) {
    if (std::ranges::none_of(all, &Option::is_required)) continue;
    const auto found = workspace->errors(2, {command});
    for (const Option& option : all) {
      if (!option.is_required()) continue;
      EXPECT_NE(std::ranges::find(found, errors::argument_missing(command, option.name())), found.end())
          << option.name();
    }
  }
}

/// The option and its value in one word, as "--out=".
TEST_F(Options, AnEqualsSignWithoutAValueIsRefused) {
  EXPECT_EQ(workspace->error(2, {"quickstart", "--weight-bits=", "--out", "new"}),
            errors::option_without_value("--weight-bits"));
}

/// dump prints its manifest, a file with a schema of its own.
TEST_F(Options, JsonOfEveryVerbBeginsWithItsSchema) {
  test::Workspace runs;
  io::write_npz(runs / "x.npz", {{"x", Tensor(DType::f32, {1, 1, 8, 8})}});
  const std::vector<Words> calls = {
      {"quickstart", "--epochs", "1", "--tune-epochs", "0", "--samples", "200", "--out", "quick"},
      {"data", "--data", "digits"},
      {"train", "--epochs", "1", "--samples", "100", "--out", "run"},
      {"eval", "quick/integer.safetensors", "--samples", "60"},
      {"quantize", "quick/float.safetensors", "--samples", "60", "--out", "prepared"},
      {"convert", "quick/prepared.safetensors", "--out", "integer.safetensors"},
      {"export", "quick/float.safetensors", "--out", "float.onnx"},
      {"export", "quick/integer.safetensors", "--format", "c", "--out", "c"},
      {"verify", "quick", "--samples", "20"},
      {"analyze", "quick/prepared.safetensors", "--samples", "20"},
      {"bits", "quick/prepared.safetensors", "--samples", "60", "--budget", "size<=60kB", "--out", "bits"},
      {"report", "quick/prepared.safetensors", "--samples", "20", "--out", "report.html"},
      {"dump", "quick/integer.safetensors", "--samples", "1", "--out", "dumped"},
      {"compare", "dumped", "quick/integer.safetensors", "--samples", "1"},
      {"run", "quick/integer.safetensors", "--inputs", "x.npz"},
      {"inspect", "quick/integer.safetensors"},
      {"platform", "list"},
      {"op", "check", "--operator", "transpose"},
      {"pass", "--list"},
      {"fuzz", "--seeds", "1", "--check", "engine"},
      {"explain", "HS1002"},
  };
  std::set<std::string> missing;
  for (const auto& [command, all] : options) missing.insert(command);
  for (Words words : calls) {
    words.emplace_back("--json");
    const std::string out = runs.expect(0, words).out;
    const auto json = nlohmann::ordered_json::parse(out);
    SCOPED_TRACE(testing::PrintToString(words));
    ASSERT_TRUE(json.is_object());
    EXPECT_EQ(json.begin().key(), "schema");
    EXPECT_EQ(json["schema"], words.front() == "dump" ? 1 : 2);
    missing.erase(words.front());
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

TEST_F(Options, AnOptionWithoutItsValueIsNamed) {
  const std::string said = workspace->expect(2, {"train", "--out", "new", "--epochs"}).err;
  EXPECT_NE(said.find(errors::wrong_argument("train", "--epochs: 1 required INT missing").message()),
            std::string::npos);
}

/// Regression: zero meant that the option was not given.
TEST_F(Options, ZeroBitsAreNotTheBitWidthsOfThePlatform) {
  for (const char* option : {"--weight-bits", "--activation-bits", "--first-last-bits"}) {
    EXPECT_EQ(workspace->error(2, {"quickstart", option, "0", "--out", "new"}),
              errors::number_out_of_range(fmt::format("quickstart: {}", option), 0, "1 to 32"));
  }
}

}  // namespace
}  // namespace halfstep
