// Programs of hand-written kernels, for tests of the runtime.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep::toy {

inline constexpr Place kCpu{DeviceKind::cpu, 0};
inline constexpr Place kSim{DeviceKind::sim, 0};

inline Verdict accept_all(const kernels::Problem&) { return accept(); }
inline kernels::Plan one_piece(const kernels::Problem&) { return {}; }

/// out[i] = sum of in[*][i] + 1.
inline Status add_one(const kernels::Call& call, int, int64_t) {
  for (int64_t i = 0; i < call.out[0].size(); ++i) {
    float sum = 1;
    for (const kernels::ConstView& in : call.in) sum += in.as<const float>()[i];
    call.out[0].as<float>()[i] = sum;
  }
  return {};
}
inline constexpr kernels::Kernel kAddOne{"toy", accept_all, one_piece, add_one};

inline Status nothing(const kernels::Call&, int, int64_t) { return {}; }
inline constexpr kernels::Kernel kNothing{"empty", accept_all, one_piece, nothing};

/// The error of a kernel that fails.
inline Diagnostic broken_at(int64_t piece) { return errors::operand_index_out_of_range("piece", piece, "none"); }

inline Status fail_always(const kernels::Call&, int, int64_t piece) { return Status(broken_at(piece)); }
inline constexpr kernels::Kernel kFail{"toy", accept_all, one_piece, fail_always};

/// Builds a spec. Every value in an arena has memory of its own, and data dependencies follow from the slots.
class Builder {
 public:
  explicit Builder(std::string name = "toy") { spec_.name = std::move(name); }

  int input(const std::string& name, Type type, Place place = kCpu) {
    const int slot =
        place == kCpu ? add({name, std::move(type), place, Storage::input}) : arena(name, std::move(type), place);
    spec_.slots[static_cast<size_t>(slot)].index = static_cast<int>(spec_.inputs.size());
    spec_.inputs.push_back({name, slot});
    return slot;
  }
  int arena(const std::string& name, Type type, Place place = kCpu) {
    const int slot = add({name, std::move(type), place, Storage::arena});
    size_t& size = spec_.arenas[place];
    spec_.slots[static_cast<size_t>(slot)].offset = size;
    size += (spec_.slots[static_cast<size_t>(slot)].bytes() + kAlignment) / kAlignment * kAlignment;
    spec_.naive_bytes = size;
    return slot;
  }
  int tensor(const std::string& name, const Tensor& contents, bool frozen = false, Place place = kCpu) {
    spec_.tensors.push_back({name, contents.type(), place, frozen});
    contents_.push_back(contents);
    return view_of_tensor(name, static_cast<int>(spec_.tensors.size()) - 1);
  }
  /// Another value in the buffer of a tensor, such as its next value.
  int view_of_tensor(const std::string& name, int tensor) {
    const runtime::TensorSpec& what = spec_.tensors[static_cast<size_t>(tensor)];
    const int slot = add({name, what.type, what.place, Storage::tensor});
    spec_.slots[static_cast<size_t>(slot)].index = tensor;
    return slot;
  }
  int result(const std::string& name, Type type) {
    const int slot = add({name, std::move(type), kCpu, Storage::output});
    spec_.slots[static_cast<size_t>(slot)].index = static_cast<int>(spec_.outputs.size());
    output(name, slot);
    return slot;
  }
  void output(const std::string& name, int slot) { spec_.outputs.push_back({name, slot}); }

  /// Number of operations that the interpreter hands to other threads.
  static constexpr int64_t kLong = 1 << 20;

  /// Returns the number of the instruction.
  int op(const kernels::Kernel* kernel, const std::string& name, const std::vector<int>& in,
         const std::vector<int>& out, kernels::Plan plan = {}, int64_t flops = kLong) {
    const int number = static_cast<int>(spec_.instructions.size());
    runtime::Instruction instruction;
    instruction.name = name;
    instruction.op = kernel == nullptr ? "transfer" : "toy_op";
    instruction.location = fmt::format("toy.ir:{}", number + 2);
    instruction.kernel = kernel;
    instruction.place = slot(out.empty() ? in.at(0) : out.at(0)).place;
    instruction.plan = std::move(plan);
    instruction.flops = flops;
    if (instruction.plan.scratch > 0) {
      size_t& size = spec_.arenas[instruction.place];
      instruction.scratch_offset = size;
      size += (instruction.plan.scratch + kAlignment) / kAlignment * kAlignment;
    }
    for (size_t i = 0; i < in.size(); ++i) {
      instruction.in.push_back({in[i], fmt::format("x{}", i)});
      if (in[i] >= 0 && slot(in[i]).first >= 0) instruction.data_dependencies.push_back(slot(in[i]).first);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      instruction.out.push_back({out[i], i == 0 ? "out" : fmt::format("out{}", i)});
      slot(out[i]).first = number;
    }
    auto& dependencies = instruction.data_dependencies;
    std::sort(dependencies.begin(), dependencies.end());
    dependencies.erase(std::unique(dependencies.begin(), dependencies.end()), dependencies.end());
    spec_.instructions.push_back(std::move(instruction));
    return number;
  }
  int copy(const std::string& name, int from, int to) { return op(nullptr, name, {from}, {to}); }
  void order(int before, int after) {
    spec_.instructions[static_cast<size_t>(after)].order_dependencies.push_back(before);
  }

  const runtime::ProgramSpec& spec() const { return spec_; }
  runtime::Program build() const { return {spec_, contents_}; }

 private:
  using Storage = runtime::Storage;
  int add(runtime::Slot slot) {
    spec_.slots.push_back(std::move(slot));
    return static_cast<int>(spec_.slots.size()) - 1;
  }
  runtime::Slot& slot(int number) { return spec_.slots[static_cast<size_t>(number)]; }

  runtime::ProgramSpec spec_;
  std::vector<Tensor> contents_;
};

inline Type f32(Dims dims) { return {DType::f32, std::move(dims)}; }
inline Tensor filled(Dims dims, float value) {
  Tensor tensor(DType::f32, std::move(dims));
  std::ranges::fill(tensor.data<float>(), value);
  return tensor;
}

}  // namespace halfstep::toy
