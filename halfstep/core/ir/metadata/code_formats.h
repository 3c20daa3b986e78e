// How the codes of an integer program's values read as reals. The program computes without it; whoever shows codes as
// reals asks here. It travels with the Model as a note.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep {

/// real = (code - zero_point) * scale, codes from code_min to code_max.
struct ValueCodes {
  float scale = 1.0F;
  int64_t zero_point = 0, code_min = 0, code_max = 255;
  bool operator==(const ValueCodes&) const = default;
};

/// By name of the value.
using CodeFormats = std::map<std::string, ValueCodes>;

void set_code_formats(Model& model, const CodeFormats& formats);

/// Nothing of programs that earlier versions made. Throws bad_input for a note that is no such list.
CodeFormats code_formats(const Model& model);

}  // namespace halfstep
