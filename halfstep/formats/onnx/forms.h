// The functions in formats/onnx/ops: translations that renames cannot say, one for each foreign operator.
#pragma once

#include <array>
#include <span>

#include "halfstep/formats/builder/form.h"

namespace halfstep::formats::onnx {

class Node;
class Translator;

using Form = formats::Form<Translator, Node>;

/// Written by opgen from the names of the files.
std::span<const Form> all_forms();

}  // namespace halfstep::formats::onnx
