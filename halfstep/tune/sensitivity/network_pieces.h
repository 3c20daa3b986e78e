// A network cut into pieces, for who tries many forms of it that differ in few quantizers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "halfstep/tune/sensitivity/networks.h"

namespace halfstep::sensitivity {

/// One piece behind the other, each of a few quantizers: a form of the network that differs from another in some of
/// them makes and compiles their pieces alone. So the work to try each quantizer grows with their number, but for
/// running what lies behind.
class Pieces {
 public:
  /// `network` must outlive it.
  explicit Pieces(const FloatNetwork& network);

  size_t size() const { return models_.size(); }
  /// Where the quantizer of a place of the network is.
  size_t of(size_t place) const { return pieces_[place]; }
  /// Whether a quantizer rounds in front of another, or is that one. Of several that round for one operation the first
  /// place is in front.
  bool is_up_to(size_t place, size_t other) const { return ranks_[place] <= ranks_[other]; }
  /// Names of the values that are computed in front of a piece and read in it or behind.
  const std::vector<std::string>& front(size_t piece) const { return fronts_[piece]; }
  /// Bytes of the values in front of a piece, of the piece that has most, for arguments of these extents.
  int64_t front_bytes(const std::map<std::string, Dims>& argument_dims) const;
  /// From the network's arguments and front(piece) to those of front(piece + 1) that are not among these, or of the
  /// last piece to the network's outputs: a float network.
  Model with(size_t piece, const Stays& stays) const { return rounding(models_[piece], stays); }

 private:
  const FloatNetwork& network_;
  std::vector<Model> models_;
  std::vector<std::vector<std::string>> fronts_;  ///< by piece
  std::vector<size_t> pieces_, ranks_;            ///< by place
};

}  // namespace halfstep::sensitivity
