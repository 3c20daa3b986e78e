// Python values as attributes.
#pragma once

#include "python/src/python.h"

namespace halfstep::python {

/// Converts bool, int, float, str, NumPy's scalars, and sequences of them, each to its own type. The library checks
/// whether the operator accepts it. Throws TypeError for anything else, Error for an int of more than 64 bits.
Attribute attribute_of(PyObject* value, const OpInfo& info, const AttributeInfo& attribute);

}  // namespace halfstep::python
