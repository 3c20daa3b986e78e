// Several results under their names.
#pragma once

#include <memory>
#include <vector>

#include "python/src/python.h"

namespace halfstep::python {

/// Makes halfstep.Results; once.
void define_named(nb::module_& module);

/// Results by port, null where the attributes switch one off. `names` is the tuple of the operator's output ports.
nb::object named_results(std::vector<nb::object> results, nb::handle names, const OpInfo& info,
                         std::shared_ptr<const Attributes> attributes);

}  // namespace halfstep::python
