#include "python/src/dtypes.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <array>
#include <string_view>

#include "halfstep/api/errors.h"

namespace halfstep::python {
namespace {

struct NumpyType {
  DType dtype;
  int number;
};
constexpr std::array kNumpyTypes = {
    NumpyType{DType::f32, NPY_FLOAT32},  NumpyType{DType::f64, NPY_FLOAT64},  NumpyType{DType::f16, NPY_FLOAT16},
    NumpyType{DType::i8, NPY_INT8},      NumpyType{DType::u8, NPY_UINT8},     NumpyType{DType::i16, NPY_INT16},
    NumpyType{DType::u16, NPY_UINT16},   NumpyType{DType::i32, NPY_INT32},    NumpyType{DType::i64, NPY_INT64},
    NumpyType{DType::i64, NPY_LONGLONG}, NumpyType{DType::boolean, NPY_BOOL}, NumpyType{DType::u32, NPY_UINT32},
    NumpyType{DType::u64, NPY_UINT64},   NumpyType{DType::u64, NPY_ULONGLONG}};

struct MlType {
  DType dtype;
  const char* name;
};
constexpr std::array kMlTypes = {MlType{DType::bf16, "bfloat16"},
                                 MlType{DType::i2, "int2"},
                                 MlType{DType::u2, "uint2"},
                                 MlType{DType::i4, "int4"},
                                 MlType{DType::u4, "uint4"},
                                 MlType{DType::f8_e4m3fn, "float8_e4m3fn"},
                                 MlType{DType::f8_e4m3fnuz, "float8_e4m3fnuz"},
                                 MlType{DType::f8_e5m2, "float8_e5m2"},
                                 MlType{DType::f8_e5m2fnuz, "float8_e5m2fnuz"},
                                 MlType{DType::f4_e2m1fn, "float4_e2m1fn"}};

struct DlpackType {
  DType dtype;
  nb::dlpack::dtype type;
};
constexpr DlpackType dlpack_type(DType dtype, nb::dlpack::dtype_code code) {
  return {dtype, {static_cast<uint8_t>(code), static_cast<uint8_t>(size_of(dtype) * 8), 1}};
}
using Code = nb::dlpack::dtype_code;
constexpr std::array kDlpackTypes = {dlpack_type(DType::f32, Code::Float),
                                     dlpack_type(DType::f64, Code::Float),
                                     dlpack_type(DType::f16, Code::Float),
                                     dlpack_type(DType::bf16, Code::Bfloat),
                                     dlpack_type(DType::i8, Code::Int),
                                     dlpack_type(DType::u8, Code::UInt),
                                     dlpack_type(DType::i16, Code::Int),
                                     dlpack_type(DType::u16, Code::UInt),
                                     dlpack_type(DType::i32, Code::Int),
                                     dlpack_type(DType::i64, Code::Int),
                                     dlpack_type(DType::u32, Code::UInt),
                                     dlpack_type(DType::u64, Code::UInt),
                                     dlpack_type(DType::boolean, Code::Bool),
                                     dlpack_type(DType::f8_e4m3fn, Code::Float8_E4M3FN),
                                     dlpack_type(DType::f8_e4m3fnuz, Code::Float8_E4M3FNUZ),
                                     dlpack_type(DType::f8_e5m2, Code::Float8_E5M2),
                                     dlpack_type(DType::f8_e5m2fnuz, Code::Float8_E5M2FNUZ)};

/// Accepts "ml_dtypes.bfloat16" and "bfloat16".
std::optional<DType> ml_dtype_of(PyArray_Descr* descr) {
  const std::string_view full = descr->typeobj->tp_name;
  const std::string_view name = full.substr(full.rfind('.') + 1);
  for (const MlType& type : kMlTypes) {
    if (name == type.name) return type.dtype;
  }
  return std::nullopt;
}

/// Returns new references. The types are looked up on first use.
PyArray_Descr* ml_descr(const MlType& type) {
  static std::array<PyArray_Descr*, kMlTypes.size()> found{};
  PyArray_Descr*& descr = found.at(static_cast<size_t>(&type - kMlTypes.data()));
  if (descr == nullptr) {
    const auto module = nb::steal(PyImport_ImportModule("ml_dtypes"));
    if (!module.is_valid()) {
      PyErr_Clear();
      fail(errors::no_dtype_of_library("NumPy", name(type.dtype), "install ml_dtypes, which has it"));
    }
    const nb::object scalar = module.attr(type.name);
    if (PyArray_DescrConverter(scalar.ptr(), &descr) != NPY_SUCCEED) nb::raise_python_error();
  }
  Py_INCREF(descr);
  return descr;
}

}  // namespace

std::optional<DType> dtype_of(PyArray_Descr* descr) {
  if (descr->type_num >= NPY_USERDEF) return ml_dtype_of(descr);
  for (const NumpyType& type : kNumpyTypes) {
    if (descr->type_num == type.number) return type.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  for (const DlpackType& known : kDlpackTypes) {
    if (type == known.type) return known.dtype;
  }
  return std::nullopt;
}

std::optional<DType> dtype_of(const Py_buffer& buffer) {
  std::string_view format = buffer.format == nullptr ? "B" : buffer.format;
  if (format.starts_with('@') || format.starts_with('=') || format.starts_with('<')) format.remove_prefix(1);
  if (format.size() != 1) return std::nullopt;
  const char letter = format[0];
  constexpr auto npos = std::string_view::npos;
  Code code = Code::Bool;
  if (std::string_view("bhilqn").find(letter) != npos) {
    code = Code::Int;
  } else if (std::string_view("BHILQN").find(letter) != npos) {
    code = Code::UInt;
  } else if (std::string_view("efd").find(letter) != npos) {
    code = Code::Float;
  } else if (letter != '?') {
    return std::nullopt;
  }
  return dtype_of({static_cast<uint8_t>(code), static_cast<uint8_t>(buffer.itemsize * 8), 1});
}

PyArray_Descr* new_descr(DType dtype) {
  for (const NumpyType& type : kNumpyTypes) {
    if (dtype == type.dtype) return PyArray_DescrFromType(type.number);
  }
  for (const MlType& type : kMlTypes) {
    if (dtype == type.dtype) return ml_descr(type);
  }
  fail(errors::no_dtype_of_library("NumPy", name(dtype), ""));
}

nb::dlpack::dtype dlpack_dtype(DType dtype) {
  for (const DlpackType& type : kDlpackTypes) {
    if (dtype == type.dtype) return type.type;
  }
  fail(errors::no_dtype_of_library("DLPack", fmt::format("{} with one code in each byte", name(dtype)),
                                   "pass NumPy arrays with ml_dtypes, which supports it"));
}

nb::object dtype_object(DType dtype) {
  static std::array<PyObject*, kDTypeCount> made{};  // never released: Python may be gone before the library
  PyObject*& object = made.at(static_cast<size_t>(dtype));
  if (object == nullptr)
    object = nb::module_::import_("halfstep.dtypes").attr("dtype")(std::string(name(dtype))).release().ptr();
  return nb::borrow(object);
}

bool is_masked(DType dtype) { return dtype == DType::i2 || dtype == DType::i4; }

void extend_sign(DType dtype, uint8_t* codes, int64_t count) {
  const int shift = 8 - bits_of(dtype);
  for (int64_t i = 0; i < count; ++i) codes[i] = static_cast<uint8_t>(static_cast<int8_t>(codes[i] << shift) >> shift);
}

void mask_sign(DType dtype, uint8_t* codes, int64_t count) {
  const auto mask = static_cast<uint8_t>((1 << bits_of(dtype)) - 1);
  for (int64_t i = 0; i < count; ++i) codes[i] &= mask;
}

}  // namespace halfstep::python
