// Times one kernel on one thread, and a copy of as many bytes in the same run.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/op_info.h"
#include "halfstep/core/machine/float_environment.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

/// One use of an operator. Operands are by flat position (undefined: absent), and results by port. Absent attributes
/// have their defaults. `bytes` is the minimal number of bytes to read and write.
struct BenchCase {
  std::string op;
  Attributes attributes;
  std::vector<Tensor> in;
  std::vector<Tensor> out;
  double bytes = 0;
  std::vector<int> constants = {};  ///< flat positions of the operands whose contents prepare may read
};

/// Adds the defaults of absent attributes, and an entry for each operand of the record.
inline BenchCase completed(BenchCase use) {
  const OpInfo* info = find_operator(use.op);
  if (info == nullptr) return use;
  for (const auto& attribute : info->attributes) use.attributes.emplace(attribute.name, attribute.default_value);
  if (!info->has_variadic_input()) use.in.resize(info->inputs.size());
  return use;
}

/// Returns seconds of a memcpy that reads and writes `bytes` in total, the best of several. Each size is measured once.
inline double copy_seconds(double bytes) {
  static std::map<int64_t, double> measured;
  const auto half = static_cast<int64_t>(bytes / 2);
  if (const auto found = measured.find(half); found != measured.end()) return found->second;
  const Tensor from(DType::u8, {half});
  Tensor to(DType::u8, {half});
  double best = 1e9;
  for (int i = 0; i < 12; ++i) {
    const auto start = std::chrono::steady_clock::now();
    std::memcpy(to.raw(), from.raw(), to.bytes());
    benchmark::DoNotOptimize(to.raw());
    benchmark::ClobberMemory();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return measured[half] = best;
}

/// Sets the counters bytes_per_second and of_copy, the share of the copy's speed. Returns the seconds of the fastest
/// run. If the kernel refuses, it skips with the kernel's reason and returns 0.
inline double time_kernel(benchmark::State& state, const Kernel& kernel, BenchCase given,
                          CpuLevel level = cpu_level()) {
  const FloatEnvironment environment;
  BenchCase use = completed(std::move(given));
  std::vector<const Type*> in_types, out_types;
  std::vector<ConstView> in;
  std::vector<View> out;
  for (const Tensor& t : use.in) {
    in_types.push_back(t.defined() ? &t.type() : nullptr);
    in.push_back(t.defined() ? ConstView{t.raw(), t.dtype(), t.dims()} : ConstView{});
  }
  for (Tensor& t : use.out) {
    out_types.push_back(&t.type());
    out.push_back({t.raw(), t.dtype(), t.dims()});
  }
  std::vector<const Tensor*> constants(in.size());
  for (const int position : use.constants) constants[position] = &use.in[position];
  const Problem problem{use.op, use.attributes, in_types, out_types, constants, level};
  if (const Verdict verdict = kernel.accept(problem); !verdict) {
    state.SkipWithError(verdict.reason().c_str());
    return 0;
  }
  const Plan plan = kernel.prepare(problem);
  Tensor scratch(DType::u8, {static_cast<int64_t>(plan.scratch)});
  Tensor worker_scratch(DType::u8, {static_cast<int64_t>(plan.worker_scratch)});
  const Call call{plan.state.get(), in, out, scratch.raw(), worker_scratch.raw()};

  double best = 1e9;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
      for (int64_t piece = 0; piece < plan.phases[phase]; ++piece) {
        if (!kernel.run(call, static_cast<int>(phase), piece).ok()) state.SkipWithError("the kernel failed");
      }
    }
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  state.SetBytesProcessed(static_cast<int64_t>(use.bytes * static_cast<double>(state.iterations())));
  state.counters["of_copy"] = copy_seconds(use.bytes) / best;
  state.SetLabel(std::string(kernel.name) + " " + std::string(name(level)));
  return best;
}

}  // namespace halfstep::kernels
