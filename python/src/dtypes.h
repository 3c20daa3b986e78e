// Element types of NumPy, ml_dtypes and DLPack.
#pragma once

#include <nanobind/ndarray.h>

#include <optional>

#include "python/src/python.h"

namespace halfstep::python {

/// Nothing for a type that Halfstep does not have. Byte order does not count.
std::optional<DType> dtype_of(PyArray_Descr* descr);
/// Nothing too for types of fewer than 8 bits, which DLPack packs.
std::optional<DType> dtype_of(nb::dlpack::dtype type);
/// Of the buffer protocol; nothing too for other byte orders than the machine's.
std::optional<DType> dtype_of(const Py_buffer& buffer);

/// A new reference, in native byte order. Types that NumPy lacks are those of ml_dtypes, which is imported then; throws
/// Error when it is not installed.
PyArray_Descr* new_descr(DType dtype);
/// Throws Error for types of fewer than 8 bits.
nb::dlpack::dtype dlpack_dtype(DType dtype);

/// Signed codes of fewer than 8 bits, which ml_dtypes masks and Halfstep extends.
bool is_masked(DType dtype);
void extend_sign(DType dtype, uint8_t* codes, int64_t count);
void mask_sign(DType dtype, uint8_t* codes, int64_t count);

}  // namespace halfstep::python
