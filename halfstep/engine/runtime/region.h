// A region, ready to run. It is bound once, or once for each combination of argument types.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/runtime/execution_frame.h"

namespace halfstep::runtime {

class Region {
 public:
  /// `spec` and `tensors` must not move.
  Region(const RegionSpec& spec, const TensorTable& tensors);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// The frame of a region with known extents, else nullptr.
  Frame* frame() { return frame_.get(); }
  const std::shared_ptr<ProgramSpec>& program() const { return spec_.program; }
  void make_worker_scratch(int threads);
  /// Runs the region on tensors and returns its outputs. Fills program and trace of `note` if it is set.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, ThreadPool& pool, RegionRun* note);

 private:
  struct Compiled;
  struct Ready {
    Frame& frame;
    std::shared_ptr<const ProgramSpec> program;
  };
  Ready ready_for(const std::vector<Tensor>& inputs);

  const RegionSpec& spec_;
  const TensorTable& tensors_;
  std::unique_ptr<Frame> frame_;
  std::map<std::string, std::unique_ptr<Compiled>> compiled_;  ///< key: types of the arguments
};

}  // namespace halfstep::runtime
