#include "halfstep/engine/runtime/region.h"

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/runtime/check.h"

namespace halfstep::runtime {
namespace {

/// Maximum number of type combinations kept.
constexpr size_t kMaxCompiled = 64;

}  // namespace

/// Updated tensors belong to the surrounding program. Frozen ones belong to this one, because its kernels packed them.
struct Region::Compiled {
  Compiled(const Unit& unit, const TensorTable& around)
      : spec(std::make_shared<const ProgramSpec>(checked(*unit.spec))) {
    table.specs = spec->tensors;
    for (size_t i = 0; i < spec->tensors.size(); ++i)
      table.addresses.push_back(spec->tensors[i].frozen ? own(spec->tensors[i], unit.contents[i])
                                                        : shared(spec->tensors[i], around));
    frame = std::make_unique<Frame>(*spec, table);
  }

  std::byte* own(const TensorSpec& tensor, const Tensor& contents) {
    if (!tensor.read) return nullptr;
    Device& device = device_at(tensor.place);
    memory.emplace_back(device, contents.bytes());
    check_copied(device.upload(memory.back().data(), contents.raw(), contents.bytes()));
    return memory.back().data();
  }

  static std::byte* shared(const TensorSpec& tensor, const TensorTable& around) {
    const auto found = std::ranges::find_if(around.specs, [&](const TensorSpec& other) {
      return other.name == tensor.name && other.place == tensor.place && !other.frozen;
    });
    HS_CHECK(found != around.specs.end());
    return around.addresses[static_cast<size_t>(found - around.specs.begin())];
  }

  std::shared_ptr<const ProgramSpec> spec;
  std::vector<DeviceMemory> memory;
  TensorTable table;
  std::unique_ptr<Frame> frame;
};

Region::Region(const RegionSpec& spec, const TensorTable& tensors) : spec_(spec), tensors_(tensors) {
  if (spec.program != nullptr) frame_ = std::make_unique<Frame>(*spec.program, tensors);
}

Region::~Region() = default;

void Region::make_worker_scratch(int threads) {
  if (frame_ != nullptr) frame_->make_worker_scratch(threads);
}

std::vector<Tensor> Region::run(const std::vector<Tensor>& inputs, ThreadPool& pool, RegionRun* note) {
  const auto [frame, program] = ready_for(inputs);
  const ProgramSpec& spec = frame.spec();
  if (note != nullptr) note->program = program;
  frame.make_worker_scratch(pool.threads());
  HS_CHECK(inputs.size() == spec.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) frame.feed(spec.inputs[i], inputs[i].raw());
  std::vector<Tensor> outputs;
  for (const Port& port : spec.outputs) {
    const Type& type = frame.slot(port).type;
    outputs.push_back(type.is_static() ? Tensor(type.dtype, type.dims) : Tensor());
    if (type.is_static()) frame.give(port, outputs.back().raw());
  }
  frame.run(0, pool, note == nullptr ? nullptr : &note->trace);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (const Tensor* open = frame.open_value(spec.outputs[i].slot)) {
      outputs[i] = *open;
    } else {
      frame.fetch(spec.outputs[i], outputs[i].raw());
    }
  }
  return outputs;
}

Region::Ready Region::ready_for(const std::vector<Tensor>& inputs) {
  if (frame_ != nullptr) return {*frame_, spec_.program};
  std::vector<Type> types;
  std::string key;
  for (const Tensor& input : inputs) {
    types.push_back(input.type());
    key += to_string(input.type()) + ";";
  }
  auto found = compiled_.find(key);
  if (found == compiled_.end()) {
    if (compiled_.size() == kMaxCompiled) compiled_.clear();
    found = compiled_.emplace(key, std::make_unique<Compiled>(spec_.compile(types), tensors_)).first;
  }
  return {*found->second->frame, found->second->spec};
}

}  // namespace halfstep::runtime
