// Values of a network over all samples, in memory or, past a limit, in temporary files.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/temporary_folder.h"

namespace halfstep::repair {

/// How much of it stays in memory; what comes on top goes into files that are gone with this object.
class StoreRoom {
 public:
  explicit StoreRoom(size_t most_bytes) : left_(most_bytes) {}

 private:
  friend class Store;
  size_t left_;
  std::optional<io::TemporaryFolder> folder_;
  int64_t files_ = 0;
};

/// One value of every sample. Samples are the first axis; each may have several rows there.
class Store {
 public:
  /// For `count` samples. Throws where a file cannot be made.
  Store(int64_t count, StoreRoom& room) : count_(count), room_(room) {}
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Values of the samples from `begin` on, `samples` of them. Throws unsupported where they are not rows of samples.
  void put(int64_t begin, int64_t samples, const Tensor& values);
  Tensor rows(std::span<const int64_t> samples) const;
  Tensor rows(int64_t begin, int64_t end) const;

  int64_t size() const { return count_; }

 private:
  void reserve(int64_t samples, const Tensor& values);
  Tensor empty(int64_t samples) const;

  int64_t count_;
  StoreRoom& room_;
  Type each_{DType::f32, {}};  ///< of one sample
  size_t bytes_ = 0;           ///< of one sample
  std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> memory_;  ///< or a mapped file
};

}  // namespace halfstep::repair
