#include "halfstep/core/base/tensor.h"

#include <mutex>

namespace halfstep {

struct Tensor::Deferred {
  std::function<Tensor()> make;
  std::mutex mutex = {};
  std::shared_ptr<std::byte> storage = {};  ///< null until the first read
};

Tensor Tensor::deferred(Type type, std::function<Tensor()> make) {
  Tensor tensor;
  tensor.size_ = count_elements(type.dims);
  tensor.type_ = std::move(type);
  tensor.deferred_ = std::make_shared<Deferred>(std::move(make));
  return tensor;
}

const std::shared_ptr<std::byte>& Tensor::deferred_storage() const {
  const std::lock_guard lock(deferred_->mutex);
  if (deferred_->storage == nullptr) {
    deferred_->storage = deferred_->make().storage();
    deferred_->make = nullptr;  // releases the captured source data
  }
  return deferred_->storage;
}

bool Tensor::is_in_memory() const {
  if (deferred_ == nullptr) return true;
  const std::lock_guard lock(deferred_->mutex);
  return deferred_->storage != nullptr;
}

Tensor Tensor::in_memory() const {
  if (deferred_ == nullptr) return *this;
  const std::lock_guard lock(deferred_->mutex);
  return over(deferred_->storage == nullptr ? deferred_->make().storage() : deferred_->storage, type_);
}

Tensor Tensor::uninitialized(DType dtype, Dims dims) {
  Tensor tensor;
  tensor.size_ = count_elements(dims);
  tensor.type_ = {dtype, std::move(dims)};
  tensor.storage_ = allocate(tensor.bytes());
  return tensor;
}

Tensor Tensor::over(std::shared_ptr<std::byte> memory, Type type) {
  HS_CHECK(reinterpret_cast<uintptr_t>(memory.get()) % size_of(type.dtype) == 0);
  Tensor tensor;
  tensor.size_ = count_elements(type.dims);
  tensor.type_ = std::move(type);
  tensor.storage_ = std::move(memory);
  return tensor;
}

Tensor::Tensor(DType dtype, Dims dims) : Tensor(uninitialized(dtype, std::move(dims))) {
  std::memset(storage_.get(), 0, bytes());
}

Tensor Tensor::clone() const {
  Tensor copy = uninitialized(type_.dtype, type_.dims);
  std::memcpy(copy.raw(), raw(), bytes());
  return copy;
}

Tensor Tensor::reshaped(Dims dims) const {
  HS_CHECK(count_elements(dims) == size_);
  Tensor view = *this;
  view.type_.dims = std::move(dims);
  return view;
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  HS_CHECK(!type_.dims.empty() && 0 <= begin && begin <= end && end <= type_.dims[0]);
  Dims dims = type_.dims;
  dims[0] = end - begin;
  Tensor slice = uninitialized(type_.dtype, dims);
  const size_t row = type_.dims[0] == 0 ? 0 : bytes() / static_cast<size_t>(type_.dims[0]);
  std::memcpy(slice.raw(), raw() + static_cast<size_t>(begin) * row, slice.bytes());
  return slice;
}

bool Tensor::same_bits(const Tensor& other) const {
  return type_ == other.type_ && std::memcmp(raw(), other.raw(), bytes()) == 0;
}

}  // namespace halfstep
