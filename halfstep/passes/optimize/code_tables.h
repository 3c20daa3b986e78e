// Looks up the codes of another scale in a table.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// A dequantize of one-byte codes and a quantize behind it become integer_lookup. Both compute the table, from all
/// codes in place of the values. Codes do not change. Reads scales and zero points, which must not change afterwards.
void code_tables(Model& model);

}  // namespace halfstep::passes
