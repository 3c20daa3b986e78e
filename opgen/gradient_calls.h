// Grammar of gradients: op(arg, port=arg, attribute=value, ...).port
//
// `...` passes on all attributes that both operators have and the call does not set.
//
// Values: inputs, outputs, OUTPUT_grad, calls. Attribute values: attributes, literals, lists of ints, dim(x, i),
// rank(x), dims(x), dtype(x), and `index`, the position in a variadic input. A gradient with dtype(x) is refused unless
// x and the result hold floats.
#pragma once

#include "opgen/record.h"

namespace halfstep::opgen {

/// Checks one gradient of `record` and names every argument.
void check_gradient_calls(NamedExpr& gradient, const Record& record, const Records& records);

}  // namespace halfstep::opgen
