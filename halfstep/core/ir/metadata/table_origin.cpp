#include "halfstep/core/ir/metadata/table_origin.h"

#include <fmt/format.h>

#include <sstream>

namespace halfstep {
namespace {

std::string key_of(const std::string& name) { return "table." + name; }

}  // namespace

void set_table_origin(Notes& notes, const std::string& name, const TableOrigin& origin) {
  notes[key_of(name)] = fmt::format("{} {} {} {} {} {}", origin.function, origin.alpha, origin.x_scale,
                                    origin.x_zero_point, origin.y_scale, origin.y_zero_point);
}

std::optional<TableOrigin> table_origin(const Notes& notes, const std::string& name) {
  const auto found = notes.find(key_of(name));
  if (found == notes.end()) return std::nullopt;
  TableOrigin origin;
  std::istringstream text(found->second);
  text >> origin.function >> origin.alpha >> origin.x_scale >> origin.x_zero_point >> origin.y_scale >>
      origin.y_zero_point;
  return text && origin.x_scale > 0 && origin.y_scale > 0 ? std::optional(origin) : std::nullopt;
}

}  // namespace halfstep
