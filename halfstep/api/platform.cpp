#include "halfstep/api/platform.h"

#include <algorithm>
#include <cctype>

namespace halfstep::api {
namespace {

/// It becomes a word of reports, and of the command line.
void require_name(const std::string& name) {
  const bool is_word =
      std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; });
  if (name.empty() || !is_word) fail("platform '{}': expected a name of letters, digits, '_' and '-'", name);
  if (quant::is_built_in(name))
    fail("platform '{}': is built in, so that this name would mean that one; expected another", name);
}

}  // namespace

PlatformCheck check_platform(const std::string& name_or_path) {
  PlatformCheck check{name_or_path, {}};
  try {
    quant::load_platform(name_or_path);
  } catch (const Refusal& refusal) {
    check.objections = refusal.objections();
  }
  return check;
}

std::string new_platform(const std::string& name, const Platform& from) {
  require_name(name);
  const Platform renamed =
      quant::parse_platform(from.text, from.name, {{"platform", name}, {"doc", "Derived from " + from.name + "."}});
  return fmt::format("# A platform of Halfstep; `halfstep platform check {}.yaml` says all that is wrong with it.\n\n",
                     name) +
         quant::record_text(renamed, true);
}

PlatformComparison compare_platforms(const Platform& first, const Platform& second) {
  return {first.name, second.name, quant::differences(first, second)};
}

}  // namespace halfstep::api
