// Stores values of a network for all samples, in memory or, beyond a limit, in temporary files.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/temporary_folder.h"

namespace halfstep::repair {

/// A memory budget for stores. Stores beyond it use files that are deleted with this object.
class StoreRoom {
 public:
  explicit StoreRoom(size_t most_bytes) : left_(most_bytes) {}

 private:
  friend class Store;
  size_t left_;
  std::optional<io::TemporaryFolder> folder_;
  int64_t files_ = 0;
};

/// One value for every sample. Samples are on the first axis. Each can have several rows.
class Store {
 public:
  /// A store for `count` samples. Throws if a file cannot be created.
  Store(int64_t count, StoreRoom& room) : count_(count), room_(room) {}
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Stores the values of `samples` samples from index `begin`. Throws unsupported if the first axis is not a multiple
  /// of `samples`.
  void put(int64_t begin, int64_t samples, const Tensor& values);
  Tensor rows(std::span<const int64_t> samples) const;
  Tensor rows(int64_t begin, int64_t end) const;

  int64_t size() const { return count_; }

 private:
  void reserve(int64_t samples, const Tensor& values);
  Tensor empty(int64_t samples) const;

  int64_t count_;
  StoreRoom& room_;
  Type each_{DType::f32, {}};  ///< for one sample
  size_t bytes_ = 0;           ///< for one sample
  std::byte* data_ = nullptr;
  std::unique_ptr<std::byte[]> memory_;  ///< null for a mapped file
};

}  // namespace halfstep::repair
