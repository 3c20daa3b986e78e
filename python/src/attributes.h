// Python values as attributes.
#pragma once

#include "python/src/python.h"

namespace halfstep::python {

/// bool, int, float, str, NumPy's scalars, and sequences of them, as what they are; whether the operator takes that is
/// for the library to say. Throws TypeError for anything else, Error for an int beyond 64 bits.
Attribute attribute_of(PyObject* value, const OpInfo& info, const AttributeInfo& attribute);

}  // namespace halfstep::python
