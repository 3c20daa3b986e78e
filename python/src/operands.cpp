#include "python/src/operands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "halfstep/api/errors.h"
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

/// Data pointer of empty tensors, whose own address may be null. A null pointer marks an absent operand.
alignas(kAlignment) constexpr std::byte kNothing[kAlignment] = {};

bool is_dense(PyArrayObject* array) {
  constexpr int kAsItIs = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;
  return (PyArray_FLAGS(array) & kAsItIs) == kAsItIs && PyArray_ISNOTSWAPPED(array);
}

/// Whether the array has a mask. Its data alone would be wrong.
bool has_mask(PyArrayObject* array) {
  return !PyArray_CheckExact(array) && PyObject_HasAttrString(reinterpret_cast<PyObject*>(array), "mask") != 0;
}

/// Copies one row of elements that are `stride` bytes apart.
template <class T>
std::byte* copy_row(std::byte* to, const std::byte* from, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < count; ++i, to += sizeof(T)) std::memcpy(to, from + i * stride, sizeof(T));
  return to;
}

}  // namespace

bool Strided::is_empty() const { return std::ranges::find(dims, 0) != dims.end(); }

bool Strided::is_dense() const {
  if (reinterpret_cast<uintptr_t>(data) % size_of(dtype) != 0) return false;
  if (strides == nullptr) return true;
  auto expected = static_cast<int64_t>(size_of(dtype));
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1 && strides[i] * unit != expected) return false;
    expected *= dims[i];
  }
  return true;
}

std::byte* Strided::copy(std::byte* to) const {
  if (strides == nullptr || dims.empty()) {
    const size_t bytes = static_cast<size_t>(count_elements(dims)) * size_of(dtype);
    std::memcpy(to, data, bytes);
    return to + bytes;
  }
  const int64_t stride = strides[0] * unit;
  if (dims.size() == 1) {
    switch (size_of(dtype)) {
      case 1: return copy_row<uint8_t>(to, data, dims[0], stride);
      case 2: return copy_row<uint16_t>(to, data, dims[0], stride);
      case 4: return copy_row<uint32_t>(to, data, dims[0], stride);
      default: return copy_row<uint64_t>(to, data, dims[0], stride);
    }
  }
  for (int64_t i = 0; i < dims[0]; ++i)
    to = Strided{data + i * stride, dtype, dims.subspan(1), strides + 1, unit}.copy(to);
  return to;
}

const std::string& Operands::port(size_t position) const { return ports_[std::min(position, ports_.size() - 1)].name; }

void Operands::set(size_t position, PyObject* object) {
  if (object == Py_None) return;
  if (numpy_in_use()) {
    if (PyArray_Check(object)) return set_array(position, reinterpret_cast<PyArrayObject*>(object));
    if (PyArray_CheckScalar(object)) {
      owners_[position] = owned(PyArray_FromScalar(object, nullptr));
      return set_array(position, reinterpret_cast<PyArrayObject*>(owners_[position].ptr()));
    }
  }
  if (PyObject_HasAttrString(object, "__dlpack__") == 0) {
    if (PyObject_CheckBuffer(object) != 0) return set_buffer(position, object);
    throw_type_error(
        fmt::format("call: {}: {} is of type {}, expected a NumPy array, a tensor with __dlpack__ or a buffer", name_,
                    port(position), Py_TYPE(object)->tp_name));
  }
  if (std::string_view(Py_TYPE(object)->tp_name) == "FakeTensor") {
    traced_ = true;
    return;
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
    fail(errors::not_an_element_type(name_, port(position), text.c_str()));
  }
  if (has_mask(array)) fail(errors::masked_array(name_, port(position)));
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

/// The capsule is not consumed. Its producer frees the tensor when the capsule is deleted.
void Operands::set_dlpack(size_t position, PyObject* object) {
  const nb::object device = nb::handle(object).attr("__dlpack_device__")();
  const int kind = nb::cast<int>(nb::object(device[0]));
  if (kind != nb::device::cpu::value && kind != nb::device::cuda_host::value) {
    fail(errors::array_on_other_device(name_, port(position), kind));
  }
  nb::object tensor_object = nb::borrow(object);
  if (nb::cast<bool>(nb::getattr(tensor_object, "requires_grad", nb::bool_(false)))) {
    require_gradient_ = true;
    tensor_object = tensor_object.attr("detach")();
  }
  owners_[position] = tensor_object.attr("__dlpack__")();
  const auto* managed = static_cast<ManagedTensor*>(PyCapsule_GetPointer(owners_[position].ptr(), "dltensor"));
  if (managed == nullptr) nb::raise_python_error();
  const nb::dlpack::dltensor& tensor = managed->tensor;
  const std::optional<DType> dtype = dtype_of(tensor.dtype);
  if (!dtype) {
    fail(errors::not_an_element_type(name_, port(position),
                                     fmt::format("a tensor of DLPack type {} with {} bits and {} lanes",
                                                 tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)));
  }
  const auto* data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  show(position, {data,
                  *dtype,
                  {tensor.shape, static_cast<size_t>(tensor.ndim)},
                  tensor.strides,
                  static_cast<int64_t>(size_of(*dtype))});
}

void Operands::set_buffer(size_t position, PyObject* object) {
  owners_[position] = owned(PyMemoryView_FromObject(object));
  const Py_buffer& buffer = *PyMemoryView_GET_BUFFER(owners_[position].ptr());
  const std::optional<DType> dtype = dtype_of(buffer);
  if (!dtype || buffer.suboffsets != nullptr) {
    fail(errors::not_an_element_type(name_, port(position),
                                     fmt::format("a buffer of '{}'", buffer.format == nullptr ? "" : buffer.format)));
  }
  show(position, {static_cast<const std::byte*>(buffer.buf),
                  *dtype,
                  {buffer.shape, static_cast<size_t>(buffer.ndim)},
                  buffer.strides,
                  1});
}

void Operands::show(size_t position, const Strided& memory) {
  const void* data = memory.data;
  if (memory.is_empty()) {
    data = kNothing;
  } else if (!memory.is_dense()) {
    const int64_t bytes = count_elements(memory.dims) * static_cast<int64_t>(size_of(memory.dtype));
    const nb::object copy = owned(PyBytes_FromStringAndSize(nullptr, bytes));
    memory.copy(reinterpret_cast<std::byte*>(PyBytes_AS_STRING(copy.ptr())));
    data = PyBytes_AS_STRING(copy.ptr());
    owners_[position] = nb::make_tuple(owners_[position], copy);  // The first object holds the extents.
  }
  views_[position] = {data, memory.dtype, memory.dims};
}

}  // namespace halfstep::python
