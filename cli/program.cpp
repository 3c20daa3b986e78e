#include "cli/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <system_error>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/progress.h"
#include "halfstep/core/base/nearest.h"

namespace halfstep::cli {
namespace {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unsupported: return kUnsupported;
    case ErrorKind::interrupted: return kInterrupted;
    case ErrorKind::bad_input:
    case ErrorKind::internal: return kBadInput;
  }
  return kBadInput;
}

/// One line on standard error, whatever the message quotes.
int report(const std::string& message, int code) {
  std::string line;
  for (const char c : message) {
    if (c != '\n') {
      line += c;
    } else if (!line.ends_with(' ')) {
      line += ' ';
    }
  }
  std::fputs(("halfstep: " + line + "\n").c_str(), stderr);
  return code;
}

std::string unknown_command(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return fmt::format("found '{}', expected a command{}; see halfstep --help", word, did_you_mean(word, names));
}

/// Names the first argument that `command` does not take; the words after an unknown option are its values.
std::string unknown_argument(const CLI::App& command, const std::vector<std::string>& words) {
  const auto option =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option == words.end())
    return fmt::format("{}: found '{}', expected no further argument; see halfstep {} --help", command.get_name(),
                       words.front(), command.get_name());
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    if (!known->get_lnames().empty()) names.push_back("--" + known->get_lnames().front());
  }
  return fmt::format("{}: unknown option '{}'{}; see halfstep {} --help", command.get_name(), *option,
                     did_you_mean(*option, names), command.get_name());
}

std::string lower_case_first(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

/// "Could not convert: --epochs = x" in the words of all other messages.
std::string reason_of(const CLI::App& command, const CLI::ParseError& error) {
  constexpr std::string_view kConversion = "Could not convert: ", kIs = " = ";
  const std::string text = error.what();
  const size_t is = text.find(kIs);
  if (!text.starts_with(kConversion) || is == std::string::npos) return lower_case_first(text);
  const std::string option = text.substr(kConversion.size(), is - kConversion.size());
  const bool whole = command.get_option(option)->get_type_name().find("INT") != std::string::npos;
  return fmt::format("{}: found '{}', expected a {}number", option, text.substr(is + kIs.size()),
                     whole ? "whole " : "");
}

/// What is wrong with the arguments, in one line.
std::string usage_error(const CLI::App& program, const CLI::ParseError& error, int count,
                        const char* const* arguments) {
  const auto chosen = program.get_subcommands();
  if (chosen.empty())
    return count > 1 ? unknown_command(program, arguments[1]) : "expected a command; see halfstep --help";
  const CLI::App& command = *chosen.front();
  const auto words = program.remaining(true);
  if (!words.empty()) return unknown_argument(command, words);
  return fmt::format("{}: {}; see halfstep {} --help", command.get_name(), reason_of(command, error),
                     command.get_name());
}

/// No option takes an empty word: who does not want one leaves it out.
void refuse_empty_words(CLI::App& program) {
  const CLI::Validator has_text(
      [](const std::string& text) {
        return text.empty() ? "found '', expected a value; without one leave the option out" : std::string();
      },
      "");
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    for (CLI::Option* option : command->get_options()) {
      if (option->get_items_expected_max() > 0) option->check(has_text);
    }
  }
}

/// "--out=", which the parser would give the word behind it.
std::string option_without_value(int count, const char* const* arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return fmt::format("{}: found '', expected a value; without one leave the option out",
                         word.substr(0, word.size() - 1));
  }
  return "";
}

int parse_and_work(int count, const char* const* arguments) {
  CLI::App program(
      "Halfstep trains quantized networks and proves that the integers on the device are the same, code for code.",
      "halfstep");
  program.require_subcommand(1);
  program.set_version_flag("--version", std::string("halfstep ") + kVersion);
  program.footer(
      "Exit codes: 0 done, 1 a check found a difference, 2 wrong use or bad input, 3 not supported, 130 "
      "interrupted.\n");
  Work work;
  for (const auto add : {add_quickstart, add_data_command, add_train, add_eval, add_run, add_quantize, add_convert,
                         add_export, add_verify, add_analyze, add_bits, add_report, add_dump, add_compare, add_inspect,
                         add_platform, add_op, add_pass, add_fuzz})
    add(program, work);
  if (count > 1 && std::string_view(arguments[1]) == kComplete) return print_completions(program);
  refuse_empty_words(program);
  if (const std::string wrong = option_without_value(count, arguments); !wrong.empty()) return report(wrong, kBadInput);
  try {
    program.parse(count, arguments);
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    const int code = program.exit(help, text, text);
    fmt::print("{}", text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    return report(usage_error(program, error, count, arguments), kBadInput);
  }
  return work();
}

/// A reader that has gone ends the program by SIGPIPE, as it ends others, but only when the claims and temporaries of
/// the verb are away. Whoever started the program with the signal ignored gets an error.
class Output {
 public:
  Output() : before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~Output() { std::signal(SIGPIPE, before_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// `code`, or that the report could not be written: what was printed may have lain in a buffer until now.
  int flushed(int code) const { return std::fflush(stdout) == 0 ? code : lost(errno); }

  int lost(int reason) const {
    if (reason == EPIPE && before_ == SIG_DFL) {
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    }
    return report(fmt::format("standard output: {}", std::strerror(reason)), kBadInput);
  }

 private:
  void (*before_)(int);
};

}  // namespace

int run(int count, const char* const* arguments) {
  const Output output;
  catch_interrupts();
  try {
    return output.flushed(parse_and_work(count, arguments));
  } catch (const Error& error) {
    return report(error.what(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return report("out of memory", kBadInput);
  } catch (const std::exception& error) {
    const auto* of_system = dynamic_cast<const std::system_error*>(&error);
    if (of_system != nullptr && std::ferror(stdout) != 0) return output.lost(of_system->code().value());
    const char* command = count > 1 ? arguments[1] : "halfstep";
    return report(fmt::format("this is a bug: {} ended with '{}'", command, error.what()), kBadInput);
  }
}

}  // namespace halfstep::cli
