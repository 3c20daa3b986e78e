// A random network: an ONNX file in memory with samples for it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "onnx.pb.h"

namespace halfstep::fuzz {

/// What the maker says of a value.
struct Described {
  Type type;
  double low = -1, high = 1;  ///< about where its elements lie
  bool rows = false;          ///< the first axis counts samples
};

struct Network {
  formats::onnx::proto::Model model;
  /// For every input, by name. Where `samples` is 0 they are the inputs of one run; else their first axis counts
  /// samples, of which a network takes any number at once or, with a fixed batch, `batch`.
  Tensors inputs;
  int64_t samples = 0, batch = 1;
  bool rows = false;                             ///< each sample's results depend on that sample alone
  bool plain = false;                            ///< made of what platforms have on codes
  bool open_batch = false;                       ///< with `rows`: the file does not say how many samples there are
  std::map<std::string, Described> values = {};  ///< results of nodes, by name
  Tensors elsewhere = {};                        ///< inputs of one run at other extents than the samples'; may be empty
  Tensors expected = {};                         ///< outputs for all `inputs`, of who wrote the file; may be empty
  std::set<std::string> on_codes = {};  ///< results of nodes that have a form on codes of every form of a layer

  std::string bytes() const { return model.SerializeAsString(); }
  /// The inputs of one run.
  Tensors batch_at(int64_t begin, int64_t count) const;
};

/// "Conv", "com.microsoft QGemm": as lists of operators have it.
std::string title_of(const formats::onnx::proto::Node& node);

/// Those of all nodes, of graphs inside too.
std::set<std::string> operators_of(const formats::onnx::proto::Graph& graph);

}  // namespace halfstep::fuzz
