#include "cli/verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/command.h"
#include "cli/help.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

/// Words after one flag, as the parser collects them.
struct Slot {
  const api::BoundOption* option;
  api::Words words;
  std::string where, deprecated;  ///< deprecated: the former spelling, if it was used
};

struct Parsed {
  std::string verb;
  std::vector<api::BoundOption> options;
  std::vector<std::unique_ptr<Slot>> slots;
  std::optional<std::string> config;
  bool prints_config = false;
  std::vector<std::string> unused_seed;  ///< value of --seed on a verb that draws no random numbers
};

/// Groups of the help, in order.
constexpr std::array kGroups = {"Model", "Data", "Preprocessing", "Quantization", "Training", "Output", "General"};

size_t group_rank(const api::BoundOption& option) {
  return static_cast<size_t>(std::ranges::find(kGroups, option.entry->group) - kGroups.begin());
}

/// Flags of a switch. A switch that is on has a flag to turn it off. One without a default has both flags.
std::string switch_flags(const api::BoundOption& option, const std::string& flag) {
  const api::Words now = option.words();
  const std::string off = "!--no-" + flag.substr(2);
  if (now.empty()) return flag + "," + off;
  return now.front() == "true" ? off : flag;
}

/// `flag` is a flag, or a short and a long one with a comma. A switch has no short one.
CLI::Option* add_flag(CLI::App& command, const api::BoundOption& option, const std::string& flag, Slot& slot) {
  if (option.is_switch)
    return command.add_flag_function(switch_flags(option, flag),
                                     [&slot](int64_t count) { slot.words = {count > 0 ? "true" : "false"}; });
  CLI::Option* added = command.add_option(flag, slot.words);
  const bool is_split = !option.entry->separator.empty();
  if (option.is_list && !(option.entry->positional && is_split)) {
    if (is_split) added->allow_extra_args(false);
  } else {
    added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
  }
  return added;
}

void add_option(CLI::App& command, const api::BoundOption& option, bool shows_all, Parsed& parsed) {
  const api::OptionEntry& entry = *option.entry;
  const auto add = [&](const std::string& flag, const std::string& deprecated) {
    const std::string where = parsed.verb + ": " + flag.substr(flag.find(',') + 1);
    parsed.slots.push_back(std::make_unique<Slot>(Slot{&option, {}, where, deprecated}));
    return add_flag(command, option, flag, *parsed.slots.back());
  };
  const std::string flag = entry.long_flag();
  const std::string flags = entry.short_flag.empty() ? flag : fmt::format("{},{}", entry.short_flag, flag);
  CLI::Option* added = add(entry.positional ? std::string(entry.name) : flags, "");
  added->description(describe(option))->type_name(type_name(option));
  added->group(entry.advanced && !shows_all ? "" : std::string(entry.group));
  if (entry.positional) add(flag, "")->group("");
  for (const std::string& old : api::words_in(entry.earlier)) {
    if (old.starts_with("--")) add(old, old)->group("");
  }
}

/// Version 0.1 accepted --seed on every verb.
void accept_unused_seed(CLI::App& command, Parsed& parsed) {
  const auto is_seed = [](const api::BoundOption& option) { return option.entry->name == "seed"; };
  if (std::ranges::none_of(parsed.options, is_seed))
    command.add_option("--seed", parsed.unused_seed)->expected(1)->group("");
}

void collect(Parsed& parsed, Given& given) {
  std::vector<std::string> notes;
  for (const auto& slot : parsed.slots) {
    if (slot->words.empty()) continue;
    const api::OptionEntry& entry = *slot->option->entry;
    if (!slot->deprecated.empty())
      notes.push_back(fmt::format("{} is now {} (0.3 removes the old spelling)", slot->deprecated, entry.long_flag()));
    given.on_command_line[std::string(entry.name)] = {slot->words, slot->where};
  }
  if (!parsed.unused_seed.empty())
    notes.push_back(fmt::format("{}: --seed has no effect here and will be an error in 0.3", parsed.verb));
  if (!given.has("json")) print_notes(notes);
}

int run_with(Parsed& parsed, const std::function<int(const Given& given)>& run) {
  Given given;
  collect(parsed, given);
  if (parsed.config && parsed.config->empty())
    fail(errors::option_of_other_form(parsed.verb + ": --config", "", "one value"));
  if (parsed.config) read_config(*parsed.config, parsed.options, given);
  set_options(parsed.verb, parsed.options, given, !parsed.prints_config);
  if (!parsed.prints_config) return run(given);
  fmt::print("{}", config_text(parsed.options, given));
  return 0;
}

}  // namespace

CLI::App* add_verb(const Program& program, const api::VerbEntry& verb, std::vector<api::BoundOption> options,
                   std::function<int(const Given& given)> run) {
  const auto parsed = std::make_shared<Parsed>();
  parsed->verb = verb.name;
  std::ranges::stable_sort(options, {}, group_rank);
  parsed->options = std::move(options);
  CLI::App* command = program.app.add_subcommand(parsed->verb, std::string(verb.summary));
  command->footer(examples_text(verb));
  for (const api::BoundOption& option : parsed->options) {
    if (option.entry->face != api::OptionFace::python) add_option(*command, option, program.shows_all, *parsed);
  }
  accept_unused_seed(*command, *parsed);
  command->add_option("--config", parsed->config, "YAML file with option values (the command line overrides it)")
      ->type_name("FILE")
      ->group("General");
  command->add_flag("--print-config", parsed->prints_config, "print the value and origin of every option")
      ->group("General");
  command->set_help_flag("-h,--help", "print this help")->group("General");
  command->add_flag("--help-all")->description("print this help with advanced options")->group("General");
  command->callback([parsed, run = std::move(run), &work = program.work] {
    work = [parsed, run] { return run_with(*parsed, run); };
  });
  return command;
}

}  // namespace halfstep::cli
