// A region, ready to run: bound once, or for each combination of types that a run gives it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/base/parallel.h"
#include "halfstep/runtime/frame.h"

namespace halfstep::runtime {

class Region {
 public:
  /// Both must stay where they are.
  Region(const RegionSpec& spec, const TensorTable& tensors);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// Where extents are known; nullptr else.
  Frame* frame() { return frame_.get(); }
  void make_worker_scratch(int threads);
  /// Runs it on tensors; what it gives.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, ThreadPool& pool);

 private:
  struct Compiled;
  Frame& frame_for(const std::vector<Tensor>& inputs);

  const RegionSpec& spec_;
  const TensorTable& tensors_;
  std::unique_ptr<Frame> frame_;
  std::map<std::string, std::unique_ptr<Compiled>> compiled_;  ///< by types
};

}  // namespace halfstep::runtime
