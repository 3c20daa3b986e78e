// Cuts a network into pieces, to evaluate many forms of it that differ in few quantizers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "halfstep/tune/sensitivity/networks.h"

namespace halfstep::sensitivity {

/// Consecutive pieces with a few quantizers each. A form that differs from another in some quantizers only builds and
/// compiles the pieces of these. The cost of trying each quantizer then grows linearly with their number, except for
/// running the pieces after it.
class Pieces {
 public:
  /// `network` must outlive this object.
  explicit Pieces(const FloatNetwork& network);

  size_t size() const { return models_.size(); }
  /// Index of the piece that contains the quantizer of a place.
  size_t of(size_t place) const { return pieces_[place]; }
  /// Whether a quantizer is before another one, or the same. Of several quantizers for one operation, the first place
  /// is before the others.
  bool is_up_to(size_t place, size_t other) const { return ranks_[place] <= ranks_[other]; }
  /// Names of values computed before a piece, and read in it or later.
  const std::vector<std::string>& front(size_t piece) const { return fronts_[piece]; }
  /// Largest number of bytes of the values before a piece, for arguments of these shapes.
  int64_t front_bytes(const std::map<std::string, Dims>& argument_dims) const;
  /// A float network for one piece. Its inputs are the network's arguments and front(piece). Its outputs are those of
  /// front(piece + 1) that are not in front(piece). The last piece has the network's outputs.
  Model with(size_t piece, const Stays& stays) const { return rounding(models_[piece], stays); }

 private:
  const FloatNetwork& network_;
  std::vector<Model> models_;
  std::vector<std::vector<std::string>> fronts_;  ///< by piece
  std::vector<size_t> pieces_, ranks_;            ///< by place
};

}  // namespace halfstep::sensitivity
