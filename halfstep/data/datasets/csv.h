// Labelled samples as numbers in text, one sample a line.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/source.h"

namespace halfstep::data {

struct LabelledData {
  Tensor x;                               ///< f32 or u8, samples first
  Tensor labels;                          ///< i32 [n]; undefined where there are none
  std::vector<std::string> classes = {};  ///< their names
};

/// Largest label plus one: bounds the list of classes that a hostile file can ask for.
inline constexpr int64_t kMaxClasses = 65536;

/// Names of number labels, "0", "1", ...: as many as the caller expects, or as the data has where `classes` is
/// kMaxClasses.
std::vector<std::string> number_names(const Tensor& labels, int64_t classes);

/// Comma-separated finite numbers and a label; the first line says how many. x is f32 [n, columns].
///
/// A first line without any number, or with a cell "label", is a header; it says which column the label is (see
/// label_column), and a column without a name counts lines and is left out. Without a header the label is the last
/// number, or the first where the last is the same in the first lines and the first is not; `label` (first, last, none
/// or a name of the header) decides otherwise. Labels lie in [0, classes), or are words under a header. Errors name
/// line and column.
LabelledData read_csv(io::Source& source, int64_t classes = kMaxClasses, const std::string& label = "");

}  // namespace halfstep::data
