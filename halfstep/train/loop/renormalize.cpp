#include "halfstep/train/loop/renormalize.h"

#include <algorithm>
#include <map>
#include <vector>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/quantized/learned_parts.h"
#include "halfstep/train/loop/joint_graph.h"

namespace halfstep::train {

int64_t renormalize(Model& model, const data::Samples& samples, const SeenBatches& batches, ThreadPool& pool) {
  Model step = differentiable_form(model, samples.extents(batches.size));
  std::vector<std::string> names;
  int64_t count = 0;
  for (const ops::BatchNorm& norm : step.graph.all<ops::BatchNorm>()) {
    if (norm.is_test()) continue;
    norm.set_attributes({{"momentum", 0.0}});  // momentum 0: the norm keeps the statistics of this batch
    names.push_back(norm.mean().name());
    names.push_back(norm.variance().name());
    ++count;
  }
  const int64_t runs = std::min(batches.count, samples.size() / batches.size);
  if (count == 0 || runs < 1) return 0;
  CompileOptions options;
  options.freeze_tensors = false;
  runtime::Program program = compile(step, options);
  std::map<std::string, std::vector<double>> sums;
  for (int64_t i = 0; i < runs; ++i) {
    data::Augmentation augmentation = batches.augmentation;
    augmentation.step += static_cast<uint64_t>(i);
    program.run(samples.inputs(i * batches.size, batches.size, &batches.order, augmentation), pool);
    for (const std::string& name : names) {
      const Tensor tensor = program.tensor(name);
      const auto values = tensor.data<float>();
      auto& sum = sums[name];
      sum.resize(values.size());
      for (size_t k = 0; k < values.size(); ++k) sum[k] += double{values[k]};
    }
  }
  for (const auto& [name, sum] : sums) {
    const auto to = model.tensors.at(name).data<float>();
    for (size_t k = 0; k < sum.size(); ++k) to[k] = static_cast<float>(sum[k] / static_cast<double>(runs));
  }
  passes::settle_learned_parts(model);
  return count;
}

}  // namespace halfstep::train
