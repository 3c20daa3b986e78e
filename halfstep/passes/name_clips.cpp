#include "halfstep/passes/name_clips.h"

#include "halfstep/ir/ops.h"
#include "halfstep/passes/uses.h"

namespace halfstep::passes {
namespace {

/// The activation of that name; nullptr when these bounds have none.
const OpInfo* named(const Model& model, ops::Clip clip) {
  const auto is = [&](Value bound, float number) {
    return bound && bound.is_tensor() && !updater_of(bound) && bound.dtype() == DType::f32 &&
           model.tensors.at(bound.name()).data<float>()[0] == number;
  };
  if (!is(clip.lowest(), 0.0F)) return nullptr;
  if (!clip.highest()) return &ops::Relu::record();
  return is(clip.highest(), 6.0F) ? &ops::Relu6::record() : nullptr;
}

}  // namespace

void name_clips(Model& model) {
  for (const ops::Clip clip : model.graph.all<ops::Clip>()) {
    const OpInfo* activation = named(model, clip);
    if (activation == nullptr) continue;
    const std::string name = clip.name();
    const Op made = model.graph.insert({activation, {clip.x()}, {}, name, clip.location()}, nullptr, clip);
    clip.out().replace_all_uses_with(made.out(0));
    model.graph.erase(clip);
    model.graph.rename(made, name);
  }
}

}  // namespace halfstep::passes
