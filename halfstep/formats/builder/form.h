// Functions that translate a foreign operator which renames cannot say.
#pragma once

#include <string_view>

namespace halfstep::formats {

template <class Translator, class Node>
struct Form {
  std::string_view domain, op;
  void (*translate)(Translator&, const Node&);  ///< gives every output of the node that has a name
  std::string_view doc;                         ///< the comment that its file starts with
};

}  // namespace halfstep::formats
