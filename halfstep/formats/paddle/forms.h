// The functions in formats/paddle/ops: translations that renames cannot say, by the names that PIR has for the
// operators.
#pragma once

#include <array>
#include <span>

#include "halfstep/formats/builder/form.h"

namespace halfstep::formats::paddle {

class Node;
class Translator;

using Form = formats::Form<Translator, Node>;

/// Written by opgen from the names of the files.
std::span<const Form> all_forms();

}  // namespace halfstep::formats::paddle
