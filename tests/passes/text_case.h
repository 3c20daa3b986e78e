// Text tests of passes: tests/passes/texts/*.ir.
//
//   # passes: NAME, NAME(ARGUMENT, ...)      starts a case
//   graph ...                                what the passes are given
//   # expect:                                followed by the graph that they make of it; or
//   # expect: unchanged
//   # numbers: half=0.5, one=1               what f32 tensors of the graph are full of; others have sampled contents
//   # values: exact                          or close: the outputs are also compared by evaluating both graphs
//
// A case that fails says `# expect-error: NAME` instead: behind the line of the graph that the message begins with
// (FILE:LINE: ), or on a line of its own for a message without a line. NAME is that of the error's entry; errors of
// rooms without a catalogue are named by a part of their text.
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
