#include "cli/command.h"

#include "cli/progress.h"

namespace halfstep::cli {

Settings Common::settings() const {
  Settings settings;
  settings.threads = threads;
  settings.seed = seed;
  settings.progress = make_progress(!json);
  return settings;
}

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& summary,
                      const std::string& example, Common& common) {
  CLI::App* command = program.add_subcommand(name, summary);
  command->footer("Example:\n  " + example + "\n");
  command->add_option("--threads", common.threads, "threads; 0 is one per processor")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->add_option("--seed", common.seed, "seed of everything random")->capture_default_str();
  command->add_flag("--json", common.json, "print JSON and no progress");
  return command;
}

void add_target(CLI::App& command, Target& target, std::vector<std::string>& overrides) {
  command.add_option("--platform", target.platform, "built-in name or path of a platform record")
      ->capture_default_str();
  command.add_option("--weights", target.weight_bits, "bits of weights, but for the first and last layer");
  command.add_option("--features", target.feature_bits, "bits of features, but for the first and last layer");
  command.add_option("--edges", target.edge_bits, "bits of the first and last layer");
  command.add_option("--set", overrides, "override a field of the platform, as in features.rate=0.1");
}

PlatformOverrides split_overrides(const std::vector<std::string>& texts) {
  PlatformOverrides overrides;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) fail("--set: found '{}', expected KEY=VALUE", text);
    overrides.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return overrides;
}

}  // namespace halfstep::cli
