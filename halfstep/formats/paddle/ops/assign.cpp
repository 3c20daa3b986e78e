// Its input under another name. In a nested block it is the new value of a variable.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_assign(Translator& translator, const Node& node) {
  translator.set(node, {"Out", 0}, translator.require(node, {"X", 0}));
}

}  // namespace halfstep::formats::paddle
