// Translates by the record, with use_global_stats as outside of training.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_batch_norm(Translator& translator, const Node& node) {
  const bool is_test = node.flag("is_test", false) || node.flag("use_global_stats", false);
  translator.by_record(node.with("is_test", is_test).without("use_global_stats"));
}

}  // namespace halfstep::formats::paddle
