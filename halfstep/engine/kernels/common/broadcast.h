// Reads a smaller operand at the elements of a larger result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace halfstep::kernels {

/// Position in an operand of the element for element `index` of the result. Axes are matched from the last. An axis
/// that the operand lacks or has with extent 1 is repeated.
inline int64_t broadcast_index(std::span<const int64_t> operand, std::span<const int64_t> result, int64_t index) {
  int64_t position = 0;
  int64_t stride = 1;
  for (size_t i = 0; i < operand.size(); ++i) {
    const int64_t extent = operand[operand.size() - 1 - i];
    const int64_t range = result[result.size() - 1 - i];
    if (extent != 1) position += index % range * stride;
    stride *= extent;
    index /= range;
  }
  return position;
}

/// Cuts a result into runs. Along a run, each of two operands advances element by element or stays at one element.
class BroadcastRuns {
 public:
  BroadcastRuns(std::span<const int64_t> a, std::span<const int64_t> b, std::span<const int64_t> result);

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  bool moves_a() const { return a_.back() != 0; }
  bool moves_b() const { return b_.back() != 0; }

  /// Begin of run `index` in the result and in the operands.
  struct Run {
    int64_t result, a, b;
  };
  Run run(int64_t index) const;

 private:
  int64_t count_ = 1, length_ = 1;
  std::vector<int64_t> extent_, a_, b_;  ///< axes from the outermost. Axes that both operands traverse alike are joined
};

}  // namespace halfstep::kernels
