// Recomputes layers from a dump. Internal to halfstep/verify/board.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/graph.h"
#include "halfstep/verify/board/rerun.h"
#include "halfstep/verify/board/side.h"

namespace halfstep::board {

class Layers {
 public:
  /// Keeps a reference to `side`.
  explicit Layers(const Side& side);

  /// The layer that computes `value`, with its inputs for these samples. Nothing if the dump lacks one of its inputs.
  /// `why` is then set to the reason.
  std::optional<Rerun> rerun(const std::string& value, const std::vector<int64_t>& samples, std::string& why) const;

 private:
  std::optional<Tensor> contents(Value operand, const std::vector<int64_t>& samples) const;

  const Side& side_;
  std::optional<Graph> graph_;
};

}  // namespace halfstep::board
