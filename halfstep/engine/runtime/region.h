// A region, ready to run: bound once, or for each combination of types that a run gives it.
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
  /// Both must stay where they are.
  Region(const RegionSpec& spec, const TensorTable& tensors);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  /// Where extents are known; nullptr else.
  Frame* frame() { return frame_.get(); }
  const std::shared_ptr<ProgramSpec>& program() const { return spec_.program; }
  void make_worker_scratch(int threads);
  /// Runs it on tensors; what it gives. Where there is a `note`, its program and trace are filled.
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
  std::map<std::string, std::unique_ptr<Compiled>> compiled_;  ///< by types
};

}  // namespace halfstep::runtime
