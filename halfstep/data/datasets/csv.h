// Reads labelled samples from text, one sample per line.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/source.h"

namespace halfstep::data {

struct LabelledData {
  Tensor x;                               ///< f32 or u8, samples along the first axis
  Tensor labels;                          ///< i32 [n], undefined without labels
  std::vector<std::string> classes = {};  ///< names of the classes
};

/// Maximum number of classes. It limits the list of classes that a malicious file can request.
inline constexpr int64_t kMaxClasses = 65536;

/// Names of number labels: "0", "1", ... There are `classes` names. With kMaxClasses, the number follows from the
/// labels.
std::vector<std::string> number_names(const Tensor& labels, int64_t classes);

/// Reads lines of comma-separated finite numbers and a label. The first line sets the number of cells. x is f32 [n,
/// columns].
///
/// A first line without any number, or with a cell "label", is a header. It names the label column (see label_column).
/// If the name of its first column is empty, that column counts lines and is left out. Without a header, the label is
/// normally the last cell. It is the first cell if, in the first lines, the first column varies within [0, classes) and
/// the last is constant or has no integers. `label` (first, last, none or a name from the header) overrides this.
/// Labels are integers in [0, classes), or words if there is a header. Errors name line and column.
LabelledData read_csv(io::Source& source, int64_t classes = kMaxClasses, const std::string& label = "");

}  // namespace halfstep::data
