// The layers of a dump, ready to be computed again. Internal to this room.
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
  /// Keeps a reference.
  explicit Layers(const Side& side);

  /// The layer that gives `value`, on these samples of what it reads. Nothing, and why not, where the dump lacks
  /// something that it reads.
  std::optional<Rerun> rerun(const std::string& value, const std::vector<int64_t>& samples, std::string& why) const;

 private:
  std::optional<Tensor> contents(Value operand, const std::vector<int64_t>& samples) const;

  const Side& side_;
  std::optional<Graph> graph_;
};

}  // namespace halfstep::board
