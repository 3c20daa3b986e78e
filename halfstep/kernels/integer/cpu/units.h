// The input of a piece as a micro-kernel reads it.
#pragma once

#include "halfstep/kernels/integer/cpu/interleave.h"
#include "halfstep/kernels/integer/cpu/tiling.h"

namespace halfstep::kernels::integer {

/// Lays a group's channels out as Tiling says.
struct UnitMaker {
  const Layer& layer;
  const Tiling& tiling;
  const Engine& engine;
  Interleave interleave;

  /// `src` is all of x; `scratch` has Tiling::lay_out_bytes.
  void fill(const void* src, const Piece& piece, int64_t group, uint32_t* units, std::byte* scratch) const;

 private:
  void fill_linear(const std::byte* src, const Piece& piece, uint32_t* units) const;
  void fill_channels(const std::byte* src, const Piece& piece, int64_t group, uint32_t* units, uint32_t* scratch) const;
  void fill_neighbours(const std::byte* src, const Piece& piece, int64_t group, uint32_t* units,
                       std::byte* scratch) const;
  uint32_t padding_unit() const;
};

/// Copies the rows of the patch matrix for the pixels [begin, begin + count) of a piece: patch[row * kPatchUnits + i].
void copy_patch(const Layer& layer, const Tiling& tiling, const Piece& piece, const uint32_t* units, int64_t begin,
                int64_t count, uint32_t* patch);

}  // namespace halfstep::kernels::integer
