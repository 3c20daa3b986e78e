// Several results under their names.
#pragma once

#include <memory>

#include "python/src/python.h"
#include "python/src/results.h"

namespace halfstep::python {

/// Makes halfstep.Results; once.
void define_named(nb::module_& module);

/// `names` is the tuple of the operator's output ports.
nb::object named_results(Results& results, nb::handle names, std::shared_ptr<const eager::Prepared> prepared);

}  // namespace halfstep::python
