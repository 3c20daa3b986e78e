// Functions that translate foreign operators for which a record entry is not enough.
#pragma once

#include <string_view>

namespace halfstep::formats {

template <class Translator, class Node>
struct Form {
  std::string_view domain, op;
  void (*translate)(Translator&, const Node&);  ///< sets every output of the node that has a name
  std::string_view doc;                         ///< comment at the start of its source file
};

}  // namespace halfstep::formats
