// Several results, accessible by name.
#pragma once

#include <memory>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Defines halfstep.Results. Call it once.
void define_named(nb::module_& module);

/// Makes results by port, null for those that the attributes disable. `names` is the tuple of the operator's output
/// ports.
nb::object named_results(std::vector<nb::object> results, nb::handle names, const OpInfo& info,
                         std::shared_ptr<const Attributes> attributes);

}  // namespace halfstep::python
