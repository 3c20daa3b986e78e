// Text tests of passes: tests/passes/texts/*.ir.
//
//   # passes: NAME, NAME(ARGUMENT, ...)      starts a case
//   graph ...                                the input of the passes
//   # expect:                                followed by the resulting graph, or
//   # expect: unchanged
//   # numbers: half=0.5, one=1               fills f32 tensors of the graph. Others have sampled contents
//   # values: exact                          or close: both graphs are evaluated and their outputs compared
//
// A case that expects an error has `# expect-error: NAME` instead. It follows the graph line that the message begins
// with (FILE:LINE: ), or has a line of its own for a message without a line. NAME is the error's entry in the
// catalogue. An error of a room without a catalogue is named by a part of its text.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halfstep::passes {

struct PassCall {
  std::string name;
  std::vector<std::string> arguments;
};

struct ExpectedError {
  std::string message;
  int line = 0;  ///< 0: the message starts with no line
};

struct TextCase {
  std::string file;  ///< file name without its folder
  int line = 0;
  std::string name;  ///< names of the file and the graph: "dce.chain"
  std::vector<PassCall> passes;
  std::string input;     ///< keeps the line numbers of the file
  std::string expected;  ///< keeps the line numbers of the file. Empty when unchanged
  std::optional<ExpectedError> error;
  std::map<std::string, float> numbers;
  std::string values;  ///< "", "exact" or "close"
};

/// Throws Error: FILE:LINE and the problem of the case.
std::vector<TextCase> read_cases(const std::filesystem::path& path);

/// The lines of `got` and `want`. Differences are marked - (wanted) and + (found).
std::string line_diff(const std::string& want, const std::string& got);

}  // namespace halfstep::passes
