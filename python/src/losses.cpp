// Losses on arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/captured.h"

namespace halfstep::python {
namespace {

/// Calls a loss. `operands` has None for absent ones, and `numbers` are the options in the order of the record.
nb::object loss_of(const std::string& name, const std::vector<nb::object>& operands, const std::vector<double>& numbers,
                   const std::string& reduction, const nb::object& weight, const std::optional<double>& ignore) {
  const InContext in_context;
  const auto array = [](const nb::object& object) {
    return object.is_none() ? Array() : *as_array_of_ours(object.ptr());
  };
  capture::Arrays arrays;
  for (const nb::object& operand : operands) arrays.push_back(array(operand));
  return object_of(losses::loss(losses::require_loss(name), std::move(arrays), numbers,
                                {losses::parse_reduction(reduction), array(weight), ignore}));
}

}  // namespace

void define_losses(nb::module_& module) {
  module.def("loss", &loss_of, nb::arg("name"), nb::arg("operands"), nb::arg("numbers"), nb::arg("reduction"),
             nb::arg("weight").none(), nb::arg("ignore").none());
}

}  // namespace halfstep::python
