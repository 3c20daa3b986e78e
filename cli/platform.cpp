#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

struct PlatformCommand {
  Common common;
  std::string mode;
  std::vector<std::string> arguments;
  TargetOptions from;
  bool overwrite = false;

  /// A platform of the arguments, with --set.
  api::Platform platform(size_t i) const { return TargetOptions{arguments[i], from.overrides}.platform(); }
};

template <class Report>
void print(const PlatformCommand& command, const Report& report) {
  fmt::print("{}", command.common.json ? report::as_json(report) : report::as_text(report));
}

/// "mychip", "chips/mychip" and "mychip.yaml" are all called mychip.
int write_new(const PlatformCommand& command) {
  std::filesystem::path path = command.arguments[0];
  if (path.extension() != ".yaml") path += ".yaml";
  OutFile out{path, command.overwrite};
  out.require();
  const std::string text = api::new_platform(path.stem().string(), command.from.platform());
  io::write_file(path, text);
  if (command.common.json) {
    print(command, quant::load_platform(path.string()));
  } else {
    fmt::print("wrote {}; when it says what your chip does: halfstep platform check {}\n", path.string(),
               path.string());
  }
  return kDone;
}

int check(const PlatformCommand& command) {
  const auto found = api::check_platform(command.arguments[0]);
  print(command, found);
  return found.holds() ? kDone : kBadInput;
}

int show(const PlatformCommand& command) {
  print(command, command.platform(0));
  return kDone;
}

int compare(const PlatformCommand& command) {
  auto found = api::compare_platforms(command.platform(0), command.platform(1));
  found.first = command.arguments[0];  // two files may call it the same
  found.second = command.arguments[1];
  print(command, found);
  return found.differences.empty() ? kDone : kDifference;
}

int list(const PlatformCommand& command) {
  std::vector<api::Platform> platforms;
  for (const std::string& name : quant::platform_names()) platforms.push_back(quant::load_platform(name));
  print(command, platforms);
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

const std::map<std::string, Mode> kModes = {
    {"new", {write_new, {"NAME"}}}, {"check", {check, {"FILE"}}},
    {"show", {show, {"PLATFORM"}}}, {"diff", {compare, {"PLATFORM", "PLATFORM"}}},
    {"list", {list, {}}},           {"keys", {list_keys, {}}}};

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const auto& [name, mode] : kModes) names.push_back(name);
  return names;
}

int run_platform(const PlatformCommand& command) {
  const auto& [run, takes] = kModes.at(command.mode);
  if (command.arguments.size() != takes.size())
    fail(errors::number_of_arguments("platform", command.mode, command.arguments.size(),
                                     takes.empty() ? "none" : fmt::format("{}", fmt::join(takes, " "))));
  return run(command);
}

}  // namespace

void add_platform(CLI::App& program, Work& work) {
  const auto options = std::make_shared<PlatformCommand>();
  CLI::App* command =
      add_command(program, "platform",
                  "Records of platforms: new NAME writes one with comments, check FILE says all that is "
                  "wrong with one (exit code 2), show P prints one resolved, diff A B what sets two "
                  "apart (exit code 1), list those built in, keys what a record has",
                  "halfstep platform new mychip --from signed_pow2_int8\n"
                  "         halfstep platform check mychip.yaml\n"
                  "         halfstep platform diff signed_pow2_int8 mychip.yaml",
                  options->common);
  command->add_option("mode", options->mode, "what to do")->check(one_of(mode_names()))->required();
  command->add_option("arguments", options->arguments, "of new the NAME; of the others built-in names or paths");
  command->add_option("--from", options->from.name, "of new: built-in name or path of the platform to begin with")
      ->capture_default_str();
  command->add_flag("--overwrite", options->overwrite, "of new: replace the file where it is there already");
  add_overrides(*command, options->from);
  command->callback([options, &work] { work = [options] { return run_platform(*options); }; });
}

}  // namespace halfstep::cli
