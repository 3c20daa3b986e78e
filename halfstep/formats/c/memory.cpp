#include "halfstep/formats/c/memory.h"

#include "halfstep/engine/compile/plan.h"

namespace halfstep::formats::c {

size_t plan_arena(Body& body) {
  runtime::ProgramSpec spec;
  std::vector<Buffer*> planned;
  for (Buffer& buffer : body.buffers) {
    if (buffer.storage != Storage::arena) continue;
    runtime::Slot slot;
    slot.name = buffer.name;
    slot.type = {buffer.dtype, {buffer.count}};
    slot.first = buffer.first;
    slot.last = buffer.last;
    spec.slots.push_back(slot);
    planned.push_back(&buffer);
  }
  spec.instructions.resize(body.calls.size());
  compiler::plan_memory(spec, true);
  for (size_t i = 0; i < planned.size(); ++i) planned[i]->offset = spec.slots[i].offset;
  return spec.arenas.empty() ? 0 : spec.arenas.begin()->second;
}

}  // namespace halfstep::formats::c
