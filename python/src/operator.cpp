#include "python/src/operator.h"

#include <fmt/format.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <structmember.h>

#include "python/src/arrays.h"
#include "python/src/attributes.h"
#include "python/src/captured.h"
#include "python/src/errors.h"
#include "python/src/named.h"
#include "python/src/operands.h"
#include "python/src/results.h"

namespace halfstep::python {
namespace {

/// From this many bytes on, a kernel runs long enough to release the GIL.
constexpr size_t kReleaseBytes = size_t{32} << 10;

PyTypeObject* operator_type = nullptr;

struct OperatorObject {
  PyObject_HEAD  // NOLINT
      vectorcallfunc call;
  const OpInfo* info;
  PyObject* names;  ///< interned names of the output ports
};

using Arguments = std::span<PyObject* const>;

/// Reads the operands by flat position.
void read_operands(Operands& operands, const OpInfo& info, Arguments given, nb::handle variadic) {
  const size_t fixed = info.inputs.size() - (info.has_variadic_input() ? 1 : 0);
  for (size_t i = 0; i < fixed; ++i) operands.set(i, given[i]);
  if (!variadic.is_valid()) return;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(variadic.ptr());
  for (Py_ssize_t i = 0; i < count; ++i)
    operands.set(fixed + static_cast<size_t>(i), PySequence_Fast_GET_ITEM(variadic.ptr(), i));
}

/// Returns the values of the variadic port as a list or tuple. Invalid if there is no such port.
nb::object variadic_values(const OpInfo& info, Arguments given) {
  if (!info.has_variadic_input()) return {};
  PyObject* values = given[info.inputs.size() - 1];
  if (PyList_Check(values) || PyTuple_Check(values)) return nb::borrow(values);
  throw_type_error(fmt::format("call: {}: {} is of type {}, expected a list of tensors", info.name,
                               info.inputs.back().name, Py_TYPE(values)->tp_name));
}

std::shared_ptr<const eager::Prepared> prepare(const OpInfo& info, Arguments attributes, Operands& operands) {
  eager::Signature signature(info);
  for (size_t i = 0; i < attributes.size(); ++i)
    signature.attribute(i, attribute_of(attributes[i], info, info.attributes[i]));
  for (const kernels::ConstView& view : operands.views()) signature.operand(view);
  if (auto known = eager::remembered(signature)) return known;
  Attributes named;
  for (size_t i = 0; i < attributes.size(); ++i)
    named.emplace(info.attributes[i].name, attribute_of(attributes[i], info, info.attributes[i]));
  return eager::prepare(signature, info, named, operands.views());
}

/// Whether PyTorch records gradients. It does not inside a function of its own.
bool torch_differentiates() {
  PyObject* torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  return torch != nullptr && nb::cast<bool>(nb::handle(torch).attr("is_grad_enabled")());
}

nb::object as_tuple(Arguments given) {
  nb::object tuple = owned(PyTuple_New(static_cast<Py_ssize_t>(given.size())));
  for (size_t i = 0; i < given.size(); ++i)
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), nb::borrow(given[i]).release().ptr());
  return tuple;
}

/// Makes the same call through a function of halfstep.torch_ops.
nb::object torch_call(const char* function, OperatorObject& self, Arguments given, size_t ports) {
  const nb::handle own(reinterpret_cast<PyObject*>(&self));
  return nb::module_::import_("halfstep.torch_ops")
      .attr(function)(own, self.info->name, nb::handle(self.names), as_tuple(given.first(ports)),
                      as_tuple(given.subspan(ports)));
}

/// Returns the first array of ours among the operands, or nullptr.
const Array* first_array(const OpInfo& info, Arguments given, nb::handle variadic) {
  const size_t fixed = info.inputs.size() - (info.has_variadic_input() ? 1 : 0);
  for (PyObject* operand : given.first(fixed)) {
    if (const Array* array = as_array_of_ours(operand)) return array;
  }
  for (Py_ssize_t i = 0; variadic.is_valid() && i < PySequence_Fast_GET_SIZE(variadic.ptr()); ++i) {
    if (const Array* array = as_array_of_ours(PySequence_Fast_GET_ITEM(variadic.ptr(), i))) return array;
  }
  return nullptr;
}

/// Converts the other operand of an array: an array, None, a number in the array's type, or a value that can become an
/// array.
Array operand_beside(const Array& array, PyObject* operand, const OpInfo& info) {
  if (operand == Py_None) return {};
  if (const Array* own = as_array_of_ours(operand)) return *own;
  if (PyBool_Check(operand) != 0 || PyLong_Check(operand) != 0 || PyFloat_Check(operand) != 0)
    return capture::full({array.dtype(), {}}, nb::cast<double>(nb::handle(operand)), array.place());
  return Array(tensor_of(operand, info.name, "operand"), array.place());
}

/// Calls the operator on arrays of ours.
nb::object call_on_arrays(OperatorObject& self, Arguments given, nb::handle variadic, const Array& first) {
  const InContext in_context;
  const OpInfo& info = *self.info;
  const size_t ports = info.inputs.size();
  capture::Arrays operands;
  const size_t fixed = ports - (info.has_variadic_input() ? 1 : 0);
  for (size_t i = 0; i < fixed; ++i) operands.push_back(operand_beside(first, given[i], info));
  for (Py_ssize_t i = 0; variadic.is_valid() && i < PySequence_Fast_GET_SIZE(variadic.ptr()); ++i)
    operands.push_back(operand_beside(first, PySequence_Fast_GET_ITEM(variadic.ptr(), i), info));
  Attributes attributes;
  for (size_t i = 0; i < info.attributes.size(); ++i)
    attributes.emplace(info.attributes[i].name, attribute_of(given[ports + i], info, info.attributes[i]));
  std::vector<nb::object> objects;
  for (Array& result : capture::apply(info, attributes, operands))
    objects.push_back(result ? object_of(std::move(result)) : nb::object());
  if (objects.size() == 1) return objects[0];
  return named_results(std::move(objects), self.names, info,
                       std::make_shared<const Attributes>(complete_attributes(info, attributes, info.name)));
}

nb::object call(OperatorObject& self, Arguments given) {
  const OpInfo& info = *self.info;
  const size_t ports = info.inputs.size();
  if (given.size() != ports + info.attributes.size()) {
    throw_type_error(
        fmt::format("call: {} takes {} values, found {}", info.name, ports + info.attributes.size(), given.size()));
  }
  const nb::object variadic = variadic_values(info, given);
  if (const Array* array = first_array(info, given, variadic)) return call_on_arrays(self, given, variadic, *array);
  const size_t count =
      variadic.is_valid() ? ports - 1 + static_cast<size_t>(PySequence_Fast_GET_SIZE(variadic.ptr())) : ports;
  Operands operands(info.name, info.inputs, count);
  read_operands(operands, info, given, variadic);
  if (operands.traced()) return torch_call("traced", self, given, ports);
  if (operands.require_gradient() && torch_differentiates()) return torch_call("call", self, given, ports);
  auto prepared = prepare(info, given.subspan(ports), operands);
  Results results(*prepared, operands.foreign());
  if (prepared->bytes() >= kReleaseBytes) {
    const nb::gil_scoped_release release;
    prepared->run(operands.views(), results.views());
  } else {
    prepared->run(operands.views(), results.views());
  }
  if (info.outputs.size() == 1) return results.object(0);
  std::vector<nb::object> objects;
  for (size_t port = 0; port < info.outputs.size(); ++port) objects.push_back(results.object(port));
  return named_results(std::move(objects), self.names, info, {prepared, &prepared->attributes()});
}

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, size_t count, PyObject* keywords) {
  try {
    if (keywords != nullptr && PyTuple_GET_SIZE(keywords) != 0) throw_type_error("call: expected no keywords");
    const Arguments given(arguments, static_cast<size_t>(PyVectorcall_NARGS(count)));
    return call(*reinterpret_cast<OperatorObject*>(self), given).release().ptr();
  } catch (...) {
    set_exception();
    return nullptr;
  }
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<OperatorObject*>(self)->names);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OperatorObject, call), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_members, members},
    {0, nullptr},
};

PyType_Spec spec = {"halfstep._core.Operator", sizeof(OperatorObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

nb::object port_names(const OpInfo& info) {
  nb::object names = owned(PyTuple_New(static_cast<Py_ssize_t>(info.outputs.size())));
  for (size_t port = 0; port < info.outputs.size(); ++port) {
    PyObject* name = PyUnicode_InternFromString(info.outputs[port].name.c_str());
    if (name == nullptr) nb::raise_python_error();
    PyTuple_SET_ITEM(names.ptr(), static_cast<Py_ssize_t>(port), name);
  }
  return names;
}

}  // namespace

void define_operator() {
  operator_type = reinterpret_cast<PyTypeObject*>(owned(PyType_FromSpec(&spec)).release().ptr());
}

namespace {

/// Takes the attributes in the record's order.
Attributes attributes_of(const OpInfo& info, const nb::tuple& given) {
  Attributes named;
  for (size_t i = 0; i < info.attributes.size(); ++i)
    named.emplace(info.attributes[i].name, attribute_of(given[i].ptr(), info, info.attributes[i]));
  return named;
}

Attributes attributes_stated(const OpInfo& info, const nb::dict& stated) {
  Attributes attributes;
  for (const AttributeInfo& attribute : info.attributes) {
    if (const char* key = attribute.name.c_str(); stated.contains(key))
      attributes.emplace(attribute.name, attribute_of(nb::object(stated[key]).ptr(), info, attribute));
  }
  return attributes;
}

}  // namespace

nb::dict stated_attributes(const std::string& name, const nb::tuple& given) {
  const OpInfo& info = require_operator(name, "trace");
  const Attributes attributes = attributes_of(info, given);
  nb::dict stated;
  for (size_t i = 0; i < info.attributes.size(); ++i) {
    const AttributeInfo& attribute = info.attributes[i];
    if (attribute.required || attributes.at(attribute.name) != attribute.default_value)
      stated[attribute.name.c_str()] = given[i];
  }
  return stated;
}

nb::list operator_types(const std::string& name, const nb::dict& stated, const std::vector<OperandType>& operands) {
  const OpInfo& info = require_operator(name, "trace");
  const Attributes attributes = attributes_stated(info, stated);
  static constexpr std::byte kThere{};
  std::vector<kernels::ConstView> views;
  for (const OperandType& operand : operands)
    views.push_back(operand ? kernels::ConstView{&kThere, parse_dtype(operand->first).value(), operand->second}
                            : kernels::ConstView{});
  const eager::Prepared prepared(info, attributes, views);
  nb::list types;
  for (size_t port = 0; port < prepared.results().size(); ++port) {
    const auto& type = prepared.results()[port];
    types.append(type ? nb::cast(std::pair(std::string(halfstep::name(type->dtype)),
                                           std::vector<int64_t>(type->dims.begin(), type->dims.end())))
                      : nb::none());
  }
  return types;
}

size_t operator_results(const std::string& name, const nb::dict& stated) {
  const OpInfo& info = require_operator(name, "trace");
  const Attributes attributes = complete_attributes(info, attributes_stated(info, stated), name);
  size_t count = 0;
  while (count < info.outputs.size() && info.has_output(static_cast<int>(count), attributes)) ++count;
  return count;
}

nb::list operator_gradient(const std::string& name, const nb::list& operands, const nb::tuple& attributes,
                           const nb::dict& result_gradients, const std::vector<bool>& wanted) {
  const OpInfo& info = require_operator(name, "gradient");
  const Attributes named = attributes_of(info, attributes);
  std::vector<Tensor> tensors;
  for (const nb::handle operand : operands)
    tensors.push_back(operand.is_none() ? Tensor() : tensor_of(operand, name, "operand"));
  std::vector<Tensor> seeds(info.outputs.size());
  for (size_t port = 0; port < seeds.size(); ++port) {
    const char* key = info.outputs[port].name.c_str();
    if (result_gradients.contains(key)) seeds[port] = tensor_of(result_gradients[key], name, key);
  }
  std::vector<Tensor> gradients;
  {
    const nb::gil_scoped_release release;
    gradients = api::gradient(info, named, tensors, seeds, wanted);
  }
  nb::list result;
  for (const Tensor& gradient : gradients) result.append(gradient.defined() ? torch_tensor(gradient) : nb::none());
  return result;
}

nb::object make_operator(const std::string& name) {
  const OpInfo& info = require_operator(name, "call");
  nb::object names = port_names(info);
  nb::object object = owned(operator_type->tp_alloc(operator_type, 0));
  auto* made = reinterpret_cast<OperatorObject*>(object.ptr());
  made->call = vectorcall;
  made->info = &info;
  made->names = names.release().ptr();
  return object;
}

}  // namespace halfstep::python
