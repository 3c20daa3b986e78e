#include "halfstep/formats/builder/region_builder.h"

#include "halfstep/core/base/status.h"

namespace halfstep::formats {

Value Regions::local(Value value) {
  return !value || value.is_tensor() || block_ == nullptr ? value : captured(value, *block_);
}

Value Regions::captured(Value value, Block& block) {
  if (value.block() == &block) return value;
  const Op holder = block.parent();
  HS_CHECK(holder);
  const Value outer = captured(value, *holder.node()->block);
  const auto [known, is_new] = captures_.try_emplace({holder.node(), outer.node()}, block.arguments().size());
  if (is_new) {
    holder.add_operand(outer);
    for (const auto& region : holder.regions())
      region->add_argument(block.graph().unique_name(outer.name()), outer.type());
  }
  return block.arguments()[known->second];
}

}  // namespace halfstep::formats
