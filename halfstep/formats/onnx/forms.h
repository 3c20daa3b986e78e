// The functions in formats/onnx/ops: translations that renames cannot say, one for each foreign operator.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace halfstep::formats::onnx {

class Node;
class Translator;

/// Gives every output of the node that has a name.
using Translate = void (*)(Translator&, const Node&);

struct Form {
  std::string_view domain, op;
  Translate translate;
  std::string_view doc;  ///< the comment that its file starts with
};

/// Written by opgen from the names of the files.
std::span<const Form> all_forms();

}  // namespace halfstep::formats::onnx
