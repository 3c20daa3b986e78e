// Labelled samples as numbers in text, one sample a line, the label last.
#pragma once

#include "halfstep/base/tensor.h"
#include "halfstep/io/source.h"

namespace halfstep::io {

struct LabelledData {
  Tensor x;       ///< f32 or u8, samples first
  Tensor labels;  ///< i32 [n]
};

/// Largest label plus one: bounds the list of classes that a hostile file can ask for.
inline constexpr int64_t kMaxClasses = 65536;

/// Comma-separated finite numbers, then a label in [0, classes); the first line says how many. Blank lines are passed
/// over. x is f32 [n, columns]. Errors name line and column: "digits.csv.gz: line 907: 63 pixels and no label, expected
/// 64 pixels and a label".
LabelledData read_csv(Source& source, int64_t classes = kMaxClasses);

}  // namespace halfstep::io
