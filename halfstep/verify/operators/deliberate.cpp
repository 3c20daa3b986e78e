#include "halfstep/verify/operators/deliberate.h"

#include <map>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/embedded.h"
#include "halfstep/core/base/status.h"

namespace halfstep::verify {
namespace {

std::map<std::string, std::string> read_lists() {
  std::map<std::string, std::string> reasons;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("halfstep/verify/operators/differences/")) continue;
    const auto json = nlohmann::json::parse(reinterpret_cast<const char*>(file.bytes.data()),
                                            reinterpret_cast<const char*>(file.bytes.data() + file.bytes.size()));
    for (const auto& [reason, ids] : json.items()) {
      for (const auto& id : ids) HS_CHECK(reasons.emplace(id.get<std::string>(), reason).second);
    }
  }
  return reasons;
}

}  // namespace

std::optional<std::string> deliberate_difference(const std::string& id) {
  static const std::map<std::string, std::string> kReasons = read_lists();
  const auto found = kReasons.find(id);
  return found == kReasons.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace halfstep::verify
