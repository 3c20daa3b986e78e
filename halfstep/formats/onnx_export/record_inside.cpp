#include "halfstep/formats/onnx_export/record_inside.h"

#include <algorithm>
#include <array>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx_export/errors.h"
#include "halfstep/formats/onnx_export/export_graph.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {
namespace {

const Dims kFlat = {kUnknown};

/// A value that a graph records at each run: a list, as its output or under a name in it.
struct Record {
  std::string value, name;
  DType dtype;
  bool has_one_extent;  ///< extents are the same at each run of the graph
};

/// Moves the last element to `place`.
template <class Field>
void move_last(Field& field, int place) {
  std::rotate(field.begin() + place, field.end() - 1, field.end());
}

class Recorder {
 public:
  Recorder(proto::Graph& graph, const std::map<std::string, DType>& values) : main_(graph), values_(values) {
    write_tensor(kMinusOne, Tensor::of<int64_t>(DType::i64, {1}, std::array<int64_t, 1>{-1}), *main_.add_initializer());
  }

  Recorded run() {
    Recorded recorded;
    for (const Record& record : records_of_nodes(main_)) {
      add_output(main_, record.name, record.dtype);
      recorded.values.push_back(record.value);
    }
    recorded.left_out = std::move(left_out_);
    for (const auto& [value, dtype] : values_) {
      if (!found_.contains(value)) fail(errors::value_not_in_export(main_.name(), value));
    }
    return recorded;
  }

 private:
  static constexpr const char* kMinusOne = "record.minus_one";

  std::string fresh(const std::string& value) { return value + ".record." + std::to_string(count_++); }

  static void add_node(proto::Graph& graph, const char* op, const std::vector<std::string>& inputs,
                       const std::string& output) {
    proto::Node& node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(output);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
  }
  static void add_output(proto::Graph& graph, const std::string& name, DType dtype) {
    write_type(name, {dtype, kFlat}, *graph.add_output());
  }

  /// Returns an empty list that all graphs can read.
  std::string empty(DType dtype) {
    std::string name = "record.no_" + std::string(halfstep::name(dtype));
    if (empty_.insert(dtype).second) write_tensor(name, Tensor(dtype, {0}), *main_.add_initializer());
    return name;
  }

  std::string flat(proto::Graph& graph, const std::string& value) {
    std::string name = fresh(value);
    add_node(graph, "Reshape", {value, kMinusOne}, name);
    return name;
  }

  /// Returns records of values inside the nodes of the graph.
  std::vector<Record> records_of_nodes(proto::Graph& graph) {
    std::vector<Record> records;
    const int count = graph.node_size();  // added nodes have no graphs
    for (int i = 0; i < count; ++i) {
      const std::string op = graph.node(i).op_type();
      if (op == "If") add_branches(graph, i, records);
      if (op == "Loop") add_loop(graph, i, records);
      if (op == "Scan") add_scan(graph, i, records);
    }
    return records;
  }

  /// Returns records of the graph of a node.
  std::vector<Record> records_in(proto::Graph& graph) {
    std::vector<Record> records;
    const int count = graph.node_size();
    for (int i = 0; i < count; ++i) {
      for (const std::string& output : graph.node(i).output()) {
        const auto wanted = values_.find(output);
        if (wanted == values_.end()) continue;
        found_.insert(output);
        records.push_back({output, flat(graph, output), wanted->second, true});
      }
    }
    for (Record& record : records_of_nodes(graph)) records.push_back(std::move(record));
    return records;
  }

  static std::vector<proto::Graph*> graphs_of(proto::Node& node) {
    std::vector<proto::Graph*> graphs;
    for (proto::NodeAttribute& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) graphs.push_back(attribute.mutable_g());
    }
    return graphs;
  }

  void add_branches(proto::Graph& graph, int at, std::vector<Record>& records) {
    const std::vector<proto::Graph*> branches = graphs_of(*graph.mutable_node(at));
    std::vector<std::vector<Record>> made;
    for (proto::Graph* branch : branches) made.push_back(records_in(*branch));
    for (size_t taken = 0; taken < branches.size(); ++taken) {
      for (const Record& record : made[taken]) {
        for (size_t b = 0; b < branches.size(); ++b) {
          std::string given = record.name;
          if (b != taken) add_node(*branches[b], "Identity", {empty(record.dtype)}, given = fresh(record.value));
          add_output(*branches[b], given, record.dtype);
        }
        records.push_back({record.value, fresh(record.value), record.dtype, false});
        graph.mutable_node(at)->add_output(records.back().name);
      }
    }
  }

  /// Carries a growing list as an additional state after the others.
  void add_loop(proto::Graph& graph, int at, std::vector<Record>& records) {
    proto::Graph& body = *graphs_of(*graph.mutable_node(at)).front();
    for (const Record& record : records_in(body)) {
      proto::Node& node = *graph.mutable_node(at);
      const int states = node.input_size() - 2;  // after the count and the condition
      const std::string before = fresh(record.value), after = fresh(record.value);
      node.add_input(empty(record.dtype));
      write_type(before, {record.dtype, kFlat}, *body.add_input());
      add_node(body, "Concat", {before, record.name}, after);
      write_attribute("axis", int64_t{0}, *body.mutable_node(body.node_size() - 1)->add_attribute());
      add_output(body, after, record.dtype);
      move_last(*body.mutable_output(), 1 + states);
      records.push_back({record.value, fresh(record.value), record.dtype, false});
      node.add_output(records.back().name);
      move_last(*node.mutable_output(), states);
    }
  }

  void add_scan(proto::Graph& graph, int at, std::vector<Record>& records) {
    proto::Graph& body = *graphs_of(*graph.mutable_node(at)).front();
    for (const Record& record : records_in(body)) {
      if (!record.has_one_extent) {
        left_out_.push_back(record.value);
        continue;
      }
      add_output(body, record.name, record.dtype);
      const std::string rows = fresh(record.value);
      graph.mutable_node(at)->add_output(rows);
      records.push_back({record.value, flat(graph, rows), record.dtype, true});
    }
  }

  proto::Graph& main_;
  const std::map<std::string, DType>& values_;
  std::set<std::string> found_;
  std::set<DType> empty_;
  std::vector<std::string> left_out_;
  int64_t count_ = 0;
};

}  // namespace

Recorded record_inside(const std::filesystem::path& path, const std::map<std::string, DType>& values) {
  proto::Model model;
  if (!model.ParseFromString(io::read_text_file(path)) || !model.has_graph())
    fail(errors::not_onnx_model(path.string(), "graph"));
  Recorded recorded = Recorder(*model.mutable_graph(), values).run();
  io::write_file(path, model.SerializeAsString());
  return recorded;
}

}  // namespace halfstep::formats::onnx
