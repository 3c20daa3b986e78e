// Element types of NumPy, ml_dtypes and DLPack.
#pragma once

#include <nanobind/ndarray.h>

#include <optional>

#include "python/src/python.h"

namespace halfstep::python {

/// Empty for a type that Halfstep does not have. Byte order is ignored.
std::optional<DType> dtype_of(PyArray_Descr* descr);
/// Empty also for types of fewer than 8 bits, because DLPack packs them.
std::optional<DType> dtype_of(nb::dlpack::dtype type);
/// Type of a buffer. Empty also if its byte order is not the machine's.
std::optional<DType> dtype_of(const Py_buffer& buffer);

/// Returns a new reference, in native byte order. Types that NumPy lacks come from ml_dtypes, which is imported on
/// demand. Throws Error if it is not installed.
PyArray_Descr* new_descr(DType dtype);
/// Throws Error for types of fewer than 8 bits.
nb::dlpack::dtype dlpack_dtype(DType dtype);

/// Returns the object of halfstep.dtypes: hs.float32 for f32.
nb::object dtype_object(DType dtype);

/// True for signed codes of fewer than 8 bits. ml_dtypes masks their high bits, and Halfstep extends the sign.
bool is_masked(DType dtype);
void extend_sign(DType dtype, uint8_t* codes, int64_t count);
void mask_sign(DType dtype, uint8_t* codes, int64_t count);

}  // namespace halfstep::python
