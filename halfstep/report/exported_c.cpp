#include "halfstep/report/exported_c.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "halfstep/report/common/json.h"

namespace halfstep::report {

std::string as_text(const api::ExportCResult& exported, const std::filesystem::path& folder) {
  std::string text;
  for (const std::string& file : exported.files) text += fmt::format("wrote {}\n", (folder / file).string());
  text += fmt::format("flash: {} bytes of weights, {} of other constants, and the code; memory: {} bytes\n",
                      exported.weight_bytes, exported.constant_bytes - exported.weight_bytes, exported.arena_bytes);
  if (exported.samples > 0) text += fmt::format("the test program runs {} samples\n", exported.samples);
  if (exported.uses_floats) text += "computes in float32: compile with -ffp-contract=off, without -ffast-math\n";
  if (!exported.fallbacks.empty()) text += fmt::format("in float: {}\n", fmt::join(exported.fallbacks, ", "));
  return text;
}

std::string as_json(const api::ExportCResult& exported) {
  return to_text({{"files", exported.files},
                  {"samples", exported.samples},
                  {"weight_bytes", exported.weight_bytes},
                  {"other_constant_bytes", exported.constant_bytes - exported.weight_bytes},
                  {"arena_bytes", exported.arena_bytes},
                  {"uses_floats", exported.uses_floats},
                  {"float", exported.fallbacks}});
}

}  // namespace halfstep::report
