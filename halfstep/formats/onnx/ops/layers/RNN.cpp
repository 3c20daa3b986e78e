// Translates by the record, without hidden_size, which only repeats an extent of the weights.
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {

void translate_RNN(Translator& translator, const Node& node) { translate_recurrent(translator, node); }

}  // namespace halfstep::formats::onnx
