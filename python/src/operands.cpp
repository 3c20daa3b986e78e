#include "python/src/operands.h"

#include "python/src/dtypes.h"
#include "python/src/errors.h"

namespace halfstep::python {
namespace {

/// DLPack's DLManagedTensor.
struct ManagedTensor {
  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

/// What an empty tensor shows, whose own address may be null: absent operands are those without memory.
alignas(kAlignment) constexpr std::byte kNothing[kAlignment] = {};

bool is_dense(PyArrayObject* array) {
  constexpr int kAsItIs = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  return (PyArray_FLAGS(array) & kAsItIs) == kAsItIs && PyArray_ISNOTSWAPPED(array);
}

/// Its data alone would be wrong.
bool has_mask(PyArrayObject* array) {
  return !PyArray_CheckExact(array) && PyObject_HasAttrString(reinterpret_cast<PyObject*>(array), "mask") != 0;
}

/// An array over foreign memory, for NumPy to copy from. `strides` in elements.
nb::object strided(const nb::dlpack::dltensor& tensor, void* data, DType dtype) {
  constexpr int kTypes[] = {0, NPY_UINT8, NPY_UINT16, 0, NPY_UINT32, 0, 0, 0, NPY_UINT64};
  const auto size = static_cast<npy_intp>(size_of(dtype));
  SmallVector<npy_intp> strides(static_cast<size_t>(tensor.ndim));
  npy_intp dense = size;
  for (size_t i = strides.size(); i-- > 0; dense *= tensor.shape[i])
    strides[i] = tensor.strides == nullptr ? dense : tensor.strides[i] * size;
  return owned(
      PyArray_New(&PyArray_Type, tensor.ndim, tensor.shape, kTypes[size], strides.all().data(), data, 0, 0, nullptr));
}

bool is_dense(const nb::dlpack::dltensor& tensor, const void* data, DType dtype) {
  if (reinterpret_cast<uintptr_t>(data) % size_of(dtype) != 0) return false;
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

bool is_empty(const nb::dlpack::dltensor& tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
  }
  return false;
}

}  // namespace

const std::string& Operands::port(size_t position) const { return ports_[std::min(position, ports_.size() - 1)].name; }

void Operands::set(size_t position, PyObject* object) {
  if (object == Py_None) return;
  if (PyArray_Check(object)) return set_array(position, reinterpret_cast<PyArrayObject*>(object));
  if (PyArray_CheckScalar(object)) {
    owners_[position] = owned(PyArray_FromScalar(object, nullptr));
    return set_array(position, reinterpret_cast<PyArrayObject*>(owners_[position].ptr()));
  }
  if (PyObject_HasAttrString(object, "__dlpack__") == 0) {
    throw_type_error(fmt::format("call: {}: {} is of type {}, expected a NumPy array or a tensor with __dlpack__",
                                 name_, port(position), Py_TYPE(object)->tp_name));
  }
  set_dlpack(position, object);
  if (foreign_ == nullptr) foreign_ = object;
}

void Operands::show(size_t position, PyArrayObject* array, DType dtype) {
  const void* data = PyArray_SIZE(array) == 0 ? kNothing : PyArray_DATA(array);
  views_[position] = {data, dtype, {PyArray_DIMS(array), static_cast<size_t>(PyArray_NDIM(array))}};
}

void Operands::set_array(size_t position, PyArrayObject* array) {
  const std::optional<DType> dtype = dtype_of(PyArray_DESCR(array));
  if (!dtype) {
    const nb::str text{nb::handle(reinterpret_cast<PyObject*>(PyArray_DESCR(array)))};
    fail("call: {} type: {} is {}, which is no element type of Halfstep", name_, port(position), text.c_str());
  }
  if (has_mask(array)) fail("call: {}: {} is a masked array, expected one without a mask", name_, port(position));
  if (!is_dense(array) || is_masked(*dtype)) return set_copy(position, array, *dtype);
  show(position, array, *dtype);
}

void Operands::set_copy(size_t position, PyArrayObject* array, DType dtype) {
  PyArray_Descr* native =
      PyArray_ISNOTSWAPPED(array) ? nullptr : PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
  owners_[position] = owned(PyArray_FromArray(array, native, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY));
  auto* copy = reinterpret_cast<PyArrayObject*>(owners_[position].ptr());
  if (is_masked(dtype)) extend_sign(dtype, static_cast<uint8_t*>(PyArray_DATA(copy)), PyArray_SIZE(copy));
  show(position, copy, dtype);
}

/// The capsule is not consumed: whoever made it frees the tensor when the capsule goes.
void Operands::set_dlpack(size_t position, PyObject* object) {
  const nb::object device = nb::handle(object).attr("__dlpack_device__")();
  const int kind = nb::cast<int>(nb::object(device[0]));
  if (kind != nb::device::cpu::value && kind != nb::device::cuda_host::value) {
    fail("call: {}: {} is on the device {} of DLPack, expected the memory of the host (1)", name_, port(position),
         kind);
  }
  owners_[position] = nb::handle(object).attr("__dlpack__")();
  const auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(owners_[position].ptr(), "dltensor"));
  if (managed == nullptr) nb::raise_python_error();
  const nb::dlpack::dltensor& tensor = managed->tensor;
  const std::optional<DType> dtype = dtype_of(tensor.dtype);
  if (!dtype) {
    fail(
        "call: {} type: {} is a tensor of DLPack type {} with {} bits and {} lanes, which is no element type of "
        "Halfstep",
        name_, port(position), tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes);
  }
  void* data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (is_empty(tensor)) {
    views_[position] = {kNothing, *dtype, {tensor.shape, static_cast<size_t>(tensor.ndim)}};
  } else if (is_dense(tensor, data, *dtype)) {
    views_[position] = {data, *dtype, {tensor.shape, static_cast<size_t>(tensor.ndim)}};
  } else {
    const nb::object view = strided(tensor, data, *dtype);
    owners_[position] = owned(PyArray_FromArray(reinterpret_cast<PyArrayObject*>(view.ptr()), nullptr,
                                                NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY));
    show(position, reinterpret_cast<PyArrayObject*>(owners_[position].ptr()), *dtype);
  }
}

}  // namespace halfstep::python
