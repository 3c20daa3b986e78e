// The extension halfstep._core.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "cli/program.h"

#include "python/src/captured.h"
#include "python/src/errors.h"
#include "python/src/named.h"
#include "python/src/network.h"
#include "python/src/operator.h"

namespace halfstep::python {
namespace {

int run_program(const std::vector<nb::bytes>& arguments) {
  std::vector<const char*> words;
  for (const nb::bytes& argument : arguments) words.push_back(argument.c_str());
  words.push_back(nullptr);
  const nb::gil_scoped_release release;
  return cli::run(static_cast<int>(arguments.size()), words.data());
}

}  // namespace

NB_MODULE(_core, module) {
  nb::set_leak_warnings(false);  // Tracebacks and autograd graphs may outlive the module.
  define_errors(module);
  define_named(module);
  define_operator();
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error&) {
      set_exception();
    }
  });
  define_networks(module);
  define_verbs(module);
  define_trainables(module);
  define_arrays(module);
  define_captured(module);
  define_regions(module);
  define_layers(module);
  define_losses(module);
  module.attr("__version__") = kVersion;
  module.def("operator", &make_operator, nb::arg("name"));
  module.def("program", &run_program, nb::arg("arguments"));
  module.def("stated_attributes", &stated_attributes, nb::arg("name"), nb::arg("given"));
  module.def("operator_types", &operator_types, nb::arg("name"), nb::arg("stated"), nb::arg("operands"));
  module.def("operator_results", &operator_results, nb::arg("name"), nb::arg("stated"));
  module.def("operator_gradient", &operator_gradient, nb::arg("name"), nb::arg("operands"), nb::arg("attributes"),
             nb::arg("result_gradients"), nb::arg("wanted"));
  module.def("threads", &eager::threads, "Return the number of threads that a large call uses.");
  module.def("set_threads", &eager::set_threads, nb::arg("count"),
             "Set the number of threads that a large call uses. 0: one per processor, the default. Results never "
             "depend on it.");
}

}  // namespace halfstep::python
