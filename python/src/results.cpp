#include "python/src/results.h"

#include <cstring>

#include "python/src/dtypes.h"

namespace halfstep::python {
namespace {

PyArrayObject* as_array(const nb::object& object) { return reinterpret_cast<PyArrayObject*>(object.ptr()); }

/// Makes an array over `data`, or over memory of its own.
nb::object new_array(const Type& type, void* data) {
  return owned(PyArray_NewFromDescr(&PyArray_Type, new_descr(type.dtype), static_cast<int>(type.dims.size()),
                                    type.dims.data(), nullptr, data, data != nullptr ? NPY_ARRAY_CARRAY : 0, nullptr));
}

using Storage = std::shared_ptr<std::byte>;

nb::object owner_of(const Tensor& tensor) {
  return nb::capsule(new Storage(tensor.storage()),
                     [](void* storage) noexcept { delete static_cast<Storage*>(storage); });
}

/// Returns `from_dlpack` of the library that made the tensor. Imports nothing new.
nb::object importer_for(PyObject* like) {
  const nb::str module_name(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(like))).attr("__module__"));
  const std::string root = module_name.c_str();
  const nb::handle modules = PyImport_GetModuleDict();
  PyObject* module = PyDict_GetItemString(modules.ptr(), root.substr(0, root.find('.')).c_str());
  if (module == nullptr || PyObject_HasAttrString(module, "from_dlpack") == 0) return {};
  return nb::handle(module).attr("from_dlpack");
}

/// Returns a tensor of the library of `like` if that library accepts it.
nb::object speaking_dlpack(const Tensor& tensor, PyObject* like) {
  SmallVector<size_t> shape(tensor.dims().size());
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = static_cast<size_t>(tensor.dims()[i]);
  const nb::ndarray<nb::array_api> array(const_cast<std::byte*>(tensor.raw()), shape.size(), shape.all().data(),
                                         owner_of(tensor), nullptr, dlpack_dtype(tensor.dtype()),
                                         nb::device::cpu::value, 0);
  const nb::object exporter = nb::cast(array);
  const nb::object import = like == nullptr ? nb::object() : importer_for(like);
  return import.is_valid() ? import(exporter) : exporter;
}

}  // namespace

Results::Results(const eager::Prepared& prepared, PyObject* like)
    : prepared_(prepared),
      like_(like),
      numpy_(like == nullptr && numpy_installed()),
      views_(prepared.results().size()),
      arrays_(prepared.results().size()),
      tensors_(numpy_ ? 0 : prepared.results().size()) {
  for (size_t port = 0; port < views_.size(); ++port) {
    const std::optional<Type>& type = prepared.results()[port];
    if (!type) continue;
    const size_t bytes = static_cast<size_t>(count_elements(type->dims)) * size_of(type->dtype);
    if (numpy_ && bytes <= kSmall && small_ < kMostSmall) {
      make_small(port, *type);
    } else {
      make(port, *type);
    }
  }
}

void Results::make_small(size_t port, const Type& type) {
  arrays_[port] = new_array(type, nullptr);
  views_[port] = {memory_[small_++], type.dtype, type.dims};
}

void Results::make(size_t port, const Type& type) {
  Tensor tensor = Tensor::uninitialized(type.dtype, type.dims);
  views_[port] = {tensor.raw(), type.dtype, type.dims};
  if (!numpy_) {
    tensors_[port] = std::move(tensor);
    return;
  }
  arrays_[port] = new_array(type, tensor.raw());
  if (PyArray_SetBaseObject(as_array(arrays_[port]), owner_of(tensor).release().ptr()) != 0) nb::raise_python_error();
}

nb::object array_of(Tensor tensor) {
  if (!numpy_installed()) return speaking_dlpack(tensor, nullptr);
  nb::object array = new_array(tensor.type(), tensor.raw());
  if (is_masked(tensor.dtype())) mask_sign(tensor.dtype(), reinterpret_cast<uint8_t*>(tensor.raw()), tensor.size());
  if (PyArray_SetBaseObject(as_array(array), owner_of(tensor).release().ptr()) != 0) nb::raise_python_error();
  return array;
}

nb::object Results::object(size_t port) {
  const kernels::View& view = views_[port];
  if (!view.present()) return {};
  if (!numpy_) return speaking_dlpack(tensors_[port], like_);
  const nb::object& array = arrays_[port];
  auto* bytes = static_cast<uint8_t*>(PyArray_DATA(as_array(array)));
  if (bytes != view.data) std::memcpy(bytes, view.data, static_cast<size_t>(PyArray_NBYTES(as_array(array))));
  if (is_masked(view.dtype)) mask_sign(view.dtype, bytes, view.size());
  return array;
}

}  // namespace halfstep::python
