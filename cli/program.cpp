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
#include "cli/help.h"
#include "cli/progress.h"
#include "halfstep/api/errors.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/report/errors.h"

namespace halfstep::cli {
namespace {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::unsupported: return kUnsupported;
    case ErrorKind::interrupted: return kInterrupted;
    case ErrorKind::internal: return kDefect;
    case ErrorKind::bad_input: break;
  }
  return kBadInput;
}

/// Prints one line on standard error, as JSON if the command uses it.
int report(const Error& error, bool json) {
  const std::string line = json ? report::as_json(error) : "halfstep: " + report::as_text(error) + "\n";
  std::fputs(line.c_str(), stderr);
  return exit_code(error.kind());
}

Diagnostic unknown_command(const CLI::App& program, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return errors::unknown_command(word, did_you_mean(word, names));
}

/// Names the first argument that `command` does not accept. Words after an unknown option count as its values.
Diagnostic unknown_argument(const CLI::App& command, const std::vector<std::string>& words) {
  const auto option =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (option == words.end()) return errors::surplus_argument(command.get_name(), words.front());
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options()) {
    if (!known->get_lnames().empty()) names.push_back("--" + known->get_lnames().front());
  }
  return errors::unknown_option(command.get_name(), *option, did_you_mean(*option, names));
}

std::string lower_case_first(std::string text) {
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

/// The parser's own message, such as "--epochs: 1 required".
Diagnostic wrong_argument(const CLI::App& command, const CLI::ParseError& error) {
  return errors::wrong_argument(command.get_name(), lower_case_first(error.what()));
}

/// Describes the error in the arguments in one line.
Diagnostic usage_error(const CLI::App& program, const CLI::ParseError& error, int count, const char* const* arguments) {
  const auto chosen = program.get_subcommands();
  if (chosen.empty()) return count > 1 ? unknown_command(program, arguments[1]) : errors::no_command();
  const CLI::App& command = *chosen.front();
  const auto words = program.remaining(true);
  if (!words.empty()) return unknown_argument(command, words);
  return wrong_argument(command, error);
}

/// Finds an option such as "--out=", for which the parser would take the next word. Returns "" if there is none.
std::string option_without_value(int count, const char* const* arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = arguments[i];
    if (word.starts_with("--") && word.find('=') == word.size() - 1)
      return std::string(word.substr(0, word.size() - 1));
  }
  return "";
}

int parse_and_work(int count, const char* const* given) {
  std::vector<const char*> words(given, given + count);
  const auto help_all = std::ranges::find(words, std::string_view("--help-all"));
  const bool completes = count > 1 && std::string_view(given[1]) == kComplete;
  const bool shows_all = help_all != words.end() || completes;
  if (help_all != words.end()) *help_all = "--help";
  const char* const* arguments = words.data();
  CLI::App program(
      "Quantize neural networks for integer-only hardware, and prove that the integer program equals the trained "
      "network, code for code.",
      "halfstep");
  program.require_subcommand(1);
  program.set_version_flag("--version", std::string("halfstep ") + kVersion);
  program.footer(
      "Exit codes: 0 done, 1 a check found a difference, 2 wrong arguments or bad input, 3 not supported, 70 a defect "
      "of Halfstep, 130 interrupted. Describe an error: halfstep explain HS1100\n");
  Work work;
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("Positionals", "Arguments");
  program.formatter(formatter);
  for (const auto add : {add_quickstart, add_data_command, add_train,   add_eval, add_run,    add_quantize, add_convert,
                         add_export,     add_verify,       add_analyze, add_bits, add_report, add_dump,     add_compare,
                         add_inspect,    add_platform,     add_op,      add_pass, add_fuzz,   add_explain})
    add({program, work, shows_all});
  if (completes) return print_completions(program);
  if (const std::string option = option_without_value(count, arguments); !option.empty())
    fail(errors::option_without_value(option));
  try {
    program.parse(count, arguments);
  } catch (const CLI::Success& help) {
    std::ostringstream text;
    const int code = program.exit(help, text, text);
    fmt::print("{}", text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    fail(usage_error(program, error, count, arguments));
  }
  return work();
}

/// Handles a closed standard output. If the reader exits, the program ends by SIGPIPE as usual, but only after the verb
/// has removed its claims and temporary files. If the program was started with SIGPIPE ignored, it reports an error.
class Output {
 public:
  explicit Output(bool json) : json_(json), before_(std::signal(SIGPIPE, SIG_IGN)) {}
  ~Output() { std::signal(SIGPIPE, before_); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Returns `code`, or the exit code of an output error. Buffered output may be lost only now.
  int flushed(int code) const { return std::fflush(stdout) == 0 ? code : lost(errno); }

  int lost(int reason) const {
    if (reason == EPIPE && before_ == SIG_DFL) {
      std::signal(SIGPIPE, SIG_DFL);
      std::raise(SIGPIPE);
    }
    return report(Error(errors::output_lost(std::strerror(reason))), json_);
  }

 private:
  bool json_;
  void (*before_)(int);
};

}  // namespace

int run(int count, const char* const* arguments) {
  const bool json =
      std::any_of(arguments, arguments + count, [](const char* word) { return std::string_view(word) == "--json"; });
  const Output output(json);
  catch_interrupts();
  try {
    return output.flushed(parse_and_work(count, arguments));
  } catch (const Error& error) {
    return report(error, json);
  } catch (const std::bad_alloc&) {
    return report(Error(errors::out_of_memory()), json);
  } catch (const std::exception& error) {
    const auto* of_system = dynamic_cast<const std::system_error*>(&error);
    if (of_system != nullptr && std::ferror(stdout) != 0) return output.lost(of_system->code().value());
    const char* command = count > 1 ? arguments[1] : "halfstep";
    return report(Error(errors::defect(command, error.what())), json);
  }
}

}  // namespace halfstep::cli
