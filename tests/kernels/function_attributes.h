// The attributes that operators on tables of a function have for it.
#pragma once

#include <string>

#include "halfstep/core/base/attribute.h"

namespace halfstep::kernels {

inline Attributes function_attributes(const std::string& function) {
  return {{"function", function}, {"alpha", 0.01}, {"beta", 0.5},         {"gamma", 1.0},
          {"bias", 0.0},          {"lambd", 0.5},  {"approximate", false}};
}

}  // namespace halfstep::kernels
