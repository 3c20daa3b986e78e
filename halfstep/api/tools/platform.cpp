#include "halfstep/api/tools/platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "halfstep/api/errors.h"

namespace halfstep::api {

Platform load_platform(const TargetOptions& target) {
  std::vector<quant::Override> overrides = target.overrides;
  if (target.insert_as) overrides.emplace_back("insert.as", name(*target.insert_as));
  return quant::load_platform(target.platform.value_or(""), overrides);
}
namespace {

/// The name must be a single word, because reports and the command line use it.
void require_name(const std::string& name) {
  const bool is_word =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
  if (name.empty() || !is_word) fail(errors::platform_name_wrong(name));
  if (quant::is_built_in(name)) fail(errors::platform_name_taken(name));
}

}  // namespace

PlatformCheck check_platform(const std::string& name_or_path) {
  PlatformCheck check{name_or_path, {}};
  try {
    quant::load_platform(name_or_path);
  } catch (const Error& refusal) {
    check.objections = refusal.diagnostics();
  }
  return check;
}

std::string new_platform(const std::string& name, const Platform& from) {
  require_name(name);
  const Platform renamed =
      quant::parse_platform(from.text, from.name, {{"platform", name}, {"doc", "Derived from " + from.name + "."}});
  return fmt::format("# A platform of Halfstep; `halfstep platform check {}.yaml` lists all errors.\n\n", name) +
         quant::commented_record_text(renamed);
}

PlatformComparison compare_platforms(const Platform& first, const Platform& second) {
  return {first.name, second.name, quant::differences(first, second)};
}

}  // namespace halfstep::api
