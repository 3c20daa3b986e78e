#include "halfstep/api/tools/explain.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"

namespace halfstep::api {

const ErrorEntry& explain(const std::string& id) {
  std::string upper = id;
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::vector<std::string> known;
  for (const ErrorEntry* entry : all_errors()) {
    if (entry->id == upper || entry->id == "HS" + upper || entry->name == id) return *entry;
    known.emplace_back(entry->id);
    known.emplace_back(entry->name);
  }
  fail(errors::unknown_error(id, did_you_mean(id, known)));
}

}  // namespace halfstep::api
