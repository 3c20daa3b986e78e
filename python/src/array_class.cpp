// Arrays as Python objects: elements, device, gradients. operator.cpp has their operators.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "halfstep/api/errors.h"
#include "python/src/arrays.h"
#include "python/src/captured.h"
#include "python/src/dtypes.h"
#include "python/src/errors.h"
#include "python/src/results.h"

namespace halfstep::python {
namespace {

PyObject* array_class = nullptr;  ///< the package's class, which derives from ours
PyObject* context = nullptr;      ///< a ContextVar of Switches

const capture::Switches& switches_of_context() {
  static const capture::Switches kDefault;
  PyObject* found = nullptr;
  if (PyContextVar_Get(context, nullptr, &found) != 0) nb::raise_python_error();
  if (found == nullptr) return kDefault;
  const nb::object held = nb::steal(found);  // the context holds a reference too
  return *nb::inst_ptr<capture::Switches>(held);
}

Place place_named(const std::string& text) {
  const std::optional<Place> place = parse_place(text);
  if (!place) fail(errors::not_a_choice("device", text, "cpu, sim or cuda:NUMBER"));
  return *place;
}

nb::object array_from(nb::handle values, const std::optional<std::string>& dtype) {
  const InContext in_context;
  Tensor tensor = tensor_of(values, "array", "values");
  if (!dtype) return object_of(Array(std::move(tensor)));
  const std::optional<DType> to = parse_dtype(*dtype);
  if (!to) fail(errors::not_a_dtype("array", *dtype));
  if (*to == tensor.dtype()) return object_of(Array(std::move(tensor)));
  const auto cast = [&] {
    const capture::Untraced untraced;  // Numbers of the program become constants of the capture.
    return capture::apply("cast", {Array(std::move(tensor))}, {{"to", *dtype}}).tensor();
  };
  return object_of(Array(cast()));
}

/// Returns a new copy of the elements for Python. A captured function depends on their values.
nb::object elements(const Array& array) {
  const InContext in_context;
  return array_of(decided(array).clone());
}

void backward(const Array& array, const Array* seed) {
  const InContext in_context;
  capture::backward(array, seed == nullptr ? Array() : *seed);
}

nb::list gradients(const std::vector<nb::object>& of, const std::vector<nb::object>& seeds,
                   const std::vector<nb::object>& wanted) {
  const InContext in_context;
  const auto arrays_of_list = [](const std::vector<nb::object>& list) {
    capture::Arrays arrays;
    for (const nb::object& each : list) arrays.push_back(*as_array_of_ours(each.ptr()));
    return arrays;
  };
  std::vector<capture::ContentPtr> contents;
  for (const Array& array : arrays_of_list(wanted)) contents.push_back(array.content());
  nb::list found;
  for (const Array& gradient : capture::gradients(arrays_of_list(of), arrays_of_list(seeds), contents))
    found.append(gradient ? object_of(gradient) : nb::none());
  return found;
}

/// Shape with None for an extent that is dynamic while a network is traced. Use it where the function does not depend
/// on the extents, such as in an error.
nb::tuple extents_of(const Array& array) {
  nb::list extents;
  for (const int64_t extent : array.dims()) extents.append(extent == kUnknown ? nb::none() : nb::cast(extent));
  return nb::tuple(extents);
}

/// Shape as in `extents_of`, but a captured function may depend on it from here on.
nb::tuple shape_of(const Array& array) {
  capture::note_extents(array);
  return extents_of(array);
}

template <class Make>
nb::object drawn(const Make& make) {
  const InContext in_context;
  return object_of(make());
}

}  // namespace

InContext::InContext() : switched_(switches_of_context()) {}

const Array* as_array_of_ours(PyObject* object) {
  if (array_class == nullptr || !PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(array_class)))
    return nullptr;
  return nb::inst_ptr<Array>(object);
}

nb::object object_of(Array array) {
  nb::object object = nb::inst_alloc(array_class);
  new (nb::inst_ptr<Array>(object)) Array(std::move(array));
  nb::inst_mark_ready(object);
  return object;
}

const Tensor& decided(const Array& array) {
  capture::decide(array);
  return array.tensor();
}

void define_arrays(nb::module_& module) {
  context = PyContextVar_New("halfstep.switches", nullptr);
  module.attr("switches") = nb::borrow(context);
  nb::class_<capture::Switches>(module, "Switches")
      .def(nb::init<>())
      .def("__copy__", [](const capture::Switches& now) { return now; })
      .def_rw("captures", &capture::Switches::captures)
      .def_rw("gradients", &capture::Switches::gradients)
      .def_rw("training", &capture::Switches::training)
      .def_prop_rw(
          "place", [](const capture::Switches& now) { return to_string(now.place); },
          [](capture::Switches& now, const std::string& text) { now.place = place_named(text); });
  nb::class_<Array>(module, "Array", nb::is_weak_referenceable())
      .def_prop_ro("dtype", [](const Array& array) { return dtype_object(array.dtype()); })
      .def_prop_ro("shape", &shape_of)
      .def_prop_ro("_extents", &extents_of)
      .def_prop_ro("ndim", [](const Array& array) { return array.dims().size(); })
      .def_prop_ro("place", [](const Array& array) { return to_string(array.place()); })
      .def_prop_ro("cell", [](const Array& array) { return reinterpret_cast<uintptr_t>(array.cell().get()); })
      .def_prop_ro("is_differentiable", &Array::is_differentiable)
      .def_prop_rw("requires_grad", &Array::requires_gradient,
                   [](Array& array, bool required) {
                     const InContext in_context;
                     array.require_gradient(required);
                   })
      .def_prop_rw(
          "grad", [](const Array& array) { return array.gradient() ? object_of(array.gradient()) : nb::none(); },
          [](Array& array, nb::handle gradient) {
            array.set_gradient(gradient.is_none() ? Array() : nb::cast<Array>(gradient));
          },
          nb::arg("gradient").none())
      .def("elements", &elements)
      .def("assign",
           [](Array& array, const Array& value) {
             const InContext in_context;
             array.assign(value);
           })
      .def("backward", &backward, nb::arg("gradient").none() = nb::none());
  module.def("array_from", &array_from, nb::arg("values"), nb::arg("dtype").none());
  module.def("set_array_class", [](nb::handle made) { array_class = made.inc_ref().ptr(); });
  module.def("full", [](double value, const Dims& dims, const std::string& dtype) {
    const std::optional<DType> type = parse_dtype(dtype);
    if (!type) fail(errors::not_a_dtype("full", dtype));
    return drawn([&] { return capture::full({*type, dims}, value); });
  });
  module.def("gradients", &gradients);
  module.def("seed", &capture::seed);
  module.def("uniform", [](const Dims& dims, double low, double high) {
    return drawn([&] { return capture::uniform(dims, low, high); });
  });
  module.def("normal", [](const Dims& dims, double mean, double deviation) {
    return drawn([&] { return capture::normal(dims, mean, deviation); });
  });
}

}  // namespace halfstep::python
