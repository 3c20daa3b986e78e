#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

using api::PlatformCommand;

/// Loads a platform of the arguments, with the overrides.
api::Platform platform(const PlatformCommand& command, size_t i) {
  return load_platform(command.common, {command.arguments[i], command.target.overrides});
}

/// Writes a new platform. The name "mychip" follows from "mychip", "chips/mychip" and "mychip.yaml".
int write_new(const PlatformCommand& command) {
  std::filesystem::path path = command.arguments[0];
  if (path.extension() != ".yaml") path += ".yaml";
  const auto claim = require({path, command.overwrite});
  const std::string text = api::new_platform(path.stem().string(), load_platform(command.common, command.target));
  io::write_file(path, text);
  if (command.common.json) {
    print(command.common, quant::load_platform(path.string()));
  } else {
    fmt::print("wrote {}; describe your chip in it, then check it: halfstep platform check {}\n", path.string(),
               path.string());
  }
  return kDone;
}

int check(const PlatformCommand& command) {
  const auto found = api::check_platform(command.arguments[0]);
  print(command.common, found);
  return found.holds() ? kDone : kBadInput;
}

int show(const PlatformCommand& command) {
  print(command.common, platform(command, 0));
  return kDone;
}

int compare(const PlatformCommand& command) {
  auto found = api::compare_platforms(platform(command, 0), platform(command, 1));
  found.first = command.arguments[0];  // both files may have the same platform name
  found.second = command.arguments[1];
  print(command.common, found);
  return found.differences.empty() ? kDone : kDifference;
}

int list(const PlatformCommand& command) {
  std::vector<api::Platform> platforms;
  for (const std::string& name : quant::platform_names()) platforms.push_back(quant::load_platform(name));
  print(command.common, platforms);
  return kDone;
}

int list_keys(const PlatformCommand& command) {
  fmt::print("{}", command.common.json ? report::record_keys_json() : report::record_keys_text());
  return kDone;
}

struct Mode {
  int (*run)(const PlatformCommand&);
  std::vector<const char*> takes;
};

using Action = api::PlatformAction;

const std::map<Action, Mode> kModes = {{Action::new_, {write_new, {"NAME"}}},
                                       {Action::check, {check, {"FILE"}}},
                                       {Action::show, {show, {"PLATFORM"}}},
                                       {Action::diff, {compare, {"PLATFORM", "PLATFORM"}}},
                                       {Action::list, {list, {}}},
                                       {Action::keys, {list_keys, {}}}};

int run_platform(PlatformCommand& command, const Given&) {
  const auto& [run, takes] = kModes.at(command.mode);
  if (command.arguments.size() != takes.size())
    fail(errors::number_of_arguments("platform", name(command.mode), command.arguments.size(),
                                     takes.empty() ? "none" : fmt::format("{}", fmt::join(takes, " "))));
  return run(command);
}

}  // namespace

void add_platform(const Program& program) { add_verb<PlatformCommand>(program, run_platform); }

}  // namespace halfstep::cli
