// A list with a fixed length given at construction. Short lists need no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace halfstep {

template <class T, size_t kInline = 8>
class SmallVector {
 public:
  explicit SmallVector(size_t count) : count_(count) {
    if (count > kInline) heap_.resize(count);
  }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data()[i]; }
  std::span<T> all() { return {data(), count_}; }

 private:
  T* data() { return heap_.empty() ? inline_.data() : heap_.data(); }

  size_t count_;
  std::array<T, kInline> inline_{};
  std::vector<T> heap_;
};

}  // namespace halfstep
