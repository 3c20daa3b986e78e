// A random network: an ONNX file in memory with samples for it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "onnx.pb.h"

namespace halfstep::fuzz {

/// Properties of a value, as declared by the maker.
struct Described {
  Type type;
  double low = -1, high = 1;  ///< approximate range of its elements
  bool rows = false;          ///< the first axis counts samples
};

struct Network {
  formats::onnx::proto::Model model;
  /// Tensors for every input, by name. If `samples` is 0, they are the inputs of one run. Else their first axis counts
  /// samples. The network takes any number of samples at once, or `batch` samples if its batch is fixed.
  Tensors inputs;
  int64_t samples = 0, batch = 1;
  bool rows = false;                             ///< each sample's results depend only on that sample
  bool plain = false;                            ///< uses only operators that platforms have on codes
  bool dynamic_batch = false;                    ///< with `rows`: the number of samples is dynamic in the file
  std::map<std::string, Described> values = {};  ///< results of nodes, by name
  Tensors elsewhere = {};                        ///< inputs of one run with other extents than the samples (may be
                                                 ///< empty)
  Tensors expected = {};                         ///< outputs for all `inputs` from the author of the file (may be
                                                 ///< empty)
  std::set<std::string> on_codes = {};  ///< results of nodes that have a form on codes whatever the form of their layer

  std::string bytes() const { return model.SerializeAsString(); }
  /// The inputs of one run.
  Tensors batch_at(int64_t begin, int64_t count) const;
};

/// Name of an operator in operator lists: "Conv", "com.microsoft QGemm".
std::string title_of(const formats::onnx::proto::Node& node);

/// Operators of all nodes, nested graphs included.
std::set<std::string> operators_of(const formats::onnx::proto::Graph& graph);

}  // namespace halfstep::fuzz
