// A dense row-major tensor in host memory.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "halfstep/core/base/shape.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/base/storage.h"

namespace halfstep {

/// Shared ownership of aligned bytes. Copies of a Tensor share storage. `clone` copies it.
class Tensor {
 public:
  Tensor() = default;
  /// Zero-filled.
  Tensor(DType dtype, Dims dims);
  /// For callers that write every element before any read.
  static Tensor uninitialized(DType dtype, Dims dims);

  /// Wraps existing memory, such as a mapped file. It must be aligned to the elements of `type`. Writes to the tensor
  /// go to this memory.
  static Tensor over(std::shared_ptr<std::byte> memory, Type type);

  /// Creates a tensor whose contents `make` computes on first read. They must be of `type`. Inspecting a network then
  /// needs no memory for its contents. Copies share them. Any thread may read first.
  static Tensor deferred(Type type, std::function<Tensor()> make);

  template <class T>
  static Tensor of(DType dtype, Dims dims, std::span<const T> values) {
    Tensor tensor(dtype, std::move(dims));
    auto to = tensor.data<T>();
    HS_CHECK(to.size() == values.size());
    std::copy(values.begin(), values.end(), to.begin());
    return tensor;
  }
  static Tensor scalar(float value) { return of<float>(DType::f32, {1}, std::span(&value, 1)); }
  static Tensor scalar(int32_t value) { return of<int32_t>(DType::i32, {1}, std::span(&value, 1)); }

  bool defined() const { return storage_ != nullptr || deferred_ != nullptr; }
  /// Returns the owner of raw().
  const std::shared_ptr<std::byte>& storage() const { return deferred_ == nullptr ? storage_ : deferred_storage(); }
  DType dtype() const { return type_.dtype; }
  const Dims& dims() const { return type_.dims; }
  const Type& type() const { return type_; }
  int64_t size() const { return size_; }
  size_t bytes() const { return static_cast<size_t>(size_) * size_of(type_.dtype); }
  std::byte* raw() { return storage().get(); }
  const std::byte* raw() const { return storage().get(); }

  template <class T>
  std::span<T> data() {
    HS_CHECK(stored_as<T>(type_.dtype));
    return {reinterpret_cast<T*>(raw()), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<const T> data() const {
    HS_CHECK(stored_as<T>(type_.dtype));
    return {reinterpret_cast<const T*>(raw()), static_cast<size_t>(size_)};
  }

  /// False for deferred contents before the first read.
  bool is_in_memory() const;
  /// Returns the tensor with its contents in memory. Unread deferred contents are made only for the caller and not
  /// kept.
  Tensor in_memory() const;
  /// Whether a write to one tensor is also a write to the other.
  bool shares_contents(const Tensor& other) const { return storage_ == other.storage_ && deferred_ == other.deferred_; }
  Tensor clone() const;
  /// Returns a tensor with the same storage and another shape. Element counts must match.
  Tensor reshaped(Dims dims) const;
  /// Returns a copy of the rows [begin, end) of the first axis.
  Tensor rows(int64_t begin, int64_t end) const;

  /// Whether types and all bytes are equal.
  bool same_bits(const Tensor& other) const;

 private:
  struct Deferred;
  const std::shared_ptr<std::byte>& deferred_storage() const;

  std::shared_ptr<std::byte> storage_;
  std::shared_ptr<Deferred> deferred_;  ///< set instead of storage_ for deferred contents
  Type type_{DType::f32, {0}};
  int64_t size_ = 0;
};

/// Tensors by name.
using Tensors = std::map<std::string, Tensor>;

}  // namespace halfstep
