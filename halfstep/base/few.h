// A list whose length is known when it is made, without an allocation where it is short.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace halfstep {

template <class T, size_t kFew = 8>
class Few {
 public:
  explicit Few(size_t count) : count_(count) {
    if (count > kFew) many_.resize(count);
  }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data()[i]; }
  std::span<T> all() { return {data(), count_}; }

 private:
  T* data() { return many_.empty() ? few_.data() : many_.data(); }

  size_t count_;
  std::array<T, kFew> few_{};
  std::vector<T> many_;
};

}  // namespace halfstep
