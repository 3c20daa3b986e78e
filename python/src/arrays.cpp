#include "python/src/arrays.h"

#include <nanobind/stl/string.h>

#include <cstring>

#include "halfstep/api/errors.h"
#include "python/src/dtypes.h"
#include "python/src/operands.h"
#include "python/src/results.h"

namespace halfstep::python {

Tensor tensor_of(nb::handle array, std::string_view verb, const std::string& name) {
  const PortInfo port{name};
  Operands operands(verb, std::span(&port, 1), 1);
  operands.set(0, array.ptr());
  const kernels::ConstView view = operands.views()[0];
  if (!view.present()) fail(errors::no_array(verb, name));
  Tensor tensor = Tensor::uninitialized(view.dtype, Dims(view.dims.begin(), view.dims.end()));
  if (tensor.bytes() > 0) std::memcpy(tensor.raw(), view.data, tensor.bytes());
  return tensor;
}

Tensors tensors_of(const nb::dict& arrays, std::string_view verb) {
  Tensors tensors;
  for (const auto& [key, array] : arrays) {
    const std::string name = nb::cast<std::string>(key);
    tensors.insert_or_assign(name, tensor_of(array, verb, name));
  }
  return tensors;
}

nb::dict arrays_of(Tensors tensors) {
  nb::dict arrays;
  for (auto& [name, tensor] : tensors) arrays[name.c_str()] = array_of(std::move(tensor));
  return arrays;
}

nb::object torch_tensor(const Tensor& tensor) {
  using Storage = std::shared_ptr<std::byte>;
  const std::vector<size_t> shape(tensor.dims().begin(), tensor.dims().end());
  const nb::capsule owner(new Storage(tensor.storage()),
                          [](void* storage) noexcept { delete static_cast<Storage*>(storage); });
  return nb::cast(nb::ndarray<nb::pytorch>(tensor.storage().get(), shape.size(), shape.data(), owner, nullptr,
                                           dlpack_dtype(tensor.dtype()), nb::device::cpu::value, 0));
}

}  // namespace halfstep::python
