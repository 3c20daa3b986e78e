#include "halfstep/fuzz/shrink.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npz.h"
#include "halfstep/formats/onnx_export/export_graph.h"
#include "halfstep/fuzz/errors.h"

namespace halfstep::fuzz {
namespace {

namespace proto = formats::onnx::proto;

/// Removes the elements of a repeated field that `drop` selects.
template <class Field, class Drop>
void erase_if(Field& field, const Drop& drop) {
  for (int i = field.size() - 1; i >= 0; --i) {
    if (drop(field.Get(i))) field.DeleteSubrange(i, 1);
  }
}

void add_reads(const proto::Graph& graph, std::set<std::string>& names) {
  for (const auto& output : graph.output()) names.insert(output.name());
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) add_reads(attribute.g(), names);
    }
  }
}

/// Removes nodes, tensors and inputs that nothing reads.
void sweep(Network& network) {
  proto::Graph& graph = *network.model.mutable_graph();
  for (bool more = true; more;) {
    std::set<std::string> read;
    add_reads(graph, read);
    const int before = graph.node_size();
    erase_if(*graph.mutable_node(), [&](const proto::Node& node) {
      return std::ranges::none_of(node.output(), [&](const std::string& name) { return read.contains(name); });
    });
    erase_if(*graph.mutable_initializer(),
             [&](const proto::TensorData& tensor) { return !read.contains(tensor.name()); });
    erase_if(*graph.mutable_input(), [&](const proto::ValueInfo& input) { return !read.contains(input.name()); });
    for (Tensors* tensors : {&network.inputs, &network.elsewhere})
      std::erase_if(*tensors, [&](const auto& input) { return !read.contains(input.first); });
    more = graph.node_size() < before;
  }
}

Type declared(const Network& network, const Described& value) {
  Type type = value.type;
  if (value.rows && network.dynamic_batch) type.dims[0] = kUnknown;
  return type;
}

Tensor random_samples(const Network& network, const Described& value, uint64_t seed) {
  Dims dims = value.type.dims;
  if (network.samples > 0 && !dims.empty()) dims[0] = network.samples;
  Tensor tensor(value.type.dtype, dims);
  Random random(seed, 400);
  const double low = std::clamp(value.low, -100.0, 100.0), high = std::clamp(value.high, low, 100.0);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double real = low + (high - low) * static_cast<double>(random.uniform());
    set_element(tensor, i, is_float(value.type.dtype) ? real : std::floor(real));
  }
  return tensor;
}

/// Turns the value into an input, so that its producers can be removed.
bool cut(Network& network, const std::string& name) {
  const auto value = network.values.find(name);
  if (value == network.values.end()) return false;
  const bool counted =
      network.samples > 0 && (value->second.type.dims.empty() || value->second.type.dims[0] != network.batch);
  if (counted) return false;
  proto::Graph& graph = *network.model.mutable_graph();
  for (auto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == name) output = name + " before";
    }
  }
  formats::onnx::write_type(name, declared(network, value->second), *graph.add_input());
  network.inputs[name] = random_samples(network, value->second, network.values.size());
  network.elsewhere.clear();  // the value's extents may depend on them
  erase_if(*graph.mutable_output(), [&](const proto::ValueInfo& output) { return output.name() == name; });
  sweep(network);
  return graph.output_size() > 0;
}

/// Readers of the node's first result read its input `port` instead.
bool bypass(Network& network, int index, int port) {
  proto::Graph& graph = *network.model.mutable_graph();
  const std::string from = graph.node(index).output(0), to = graph.node(index).input(port);
  const auto made = network.values.find(from), read = network.values.find(to);
  if (to.empty() || made == network.values.end()) return false;
  if (read != network.values.end() && !(read->second.type == made->second.type)) return false;
  for (auto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) {
      if (input == from) input = to;
    }
  }
  const bool is_output = std::ranges::any_of(graph.output(), [&](const auto& output) { return output.name() == from; });
  if (is_output) return false;
  sweep(network);
  return true;
}

bool keep_output(Network& network, int index) {
  auto& outputs = *network.model.mutable_graph()->mutable_output();
  if (outputs.size() < 2) return false;
  const std::string name = outputs.Get(index).name();
  erase_if(outputs, [&](const proto::ValueInfo& output) { return output.name() != name; });
  sweep(network);
  return true;
}

/// Makes the value the only output, so that everything after it can be removed.
bool end_at(Network& network, int index) {
  proto::Graph& graph = *network.model.mutable_graph();
  const std::string name = graph.node(index).output(0);
  const auto value = network.values.find(name);
  if (value == network.values.end() || (graph.output_size() == 1 && graph.output(0).name() == name)) return false;
  graph.clear_output();
  formats::onnx::write_type(name, declared(network, value->second), *graph.add_output());
  sweep(network);
  return true;
}

bool drop_attribute(Network& network, int node, int attribute) {
  auto& attributes = *network.model.mutable_graph()->mutable_node(node)->mutable_attribute();
  attributes.DeleteSubrange(attribute, 1);
  return true;
}

bool fewer_samples(Network& network) {
  if (network.samples <= network.batch) return false;
  network.inputs = network.batch_at(0, network.batch);
  network.samples = network.batch;
  return true;
}

class Shrinker {
 public:
  Shrinker(Network network, const std::function<bool(const Network&)>& fails, int tries)
      : network_(std::move(network)), fails_(fails), tries_(tries) {}

  Network run() {
    attempt(fewer_samples);
    while (tries_ > 0 && (outputs() || ends() || cuts() || bypasses())) {
    }
    for (int node = 0; node < nodes(); ++node) {
      for (int i = network_.model.graph().node(node).attribute_size() - 1; i >= 0; --i)
        attempt([&](Network& network) { return drop_attribute(network, node, i); });
    }
    return std::move(network_);
  }

 private:
  int nodes() const { return network_.model.graph().node_size(); }

  template <class Change>
  bool attempt(const Change& change) {
    Network changed = network_;
    if (tries_ <= 0 || !change(changed)) return false;
    --tries_;
    if (!fails_(changed)) return false;
    network_ = std::move(changed);
    return true;
  }

  bool outputs() {
    for (int i = network_.model.graph().output_size() - 1; i >= 0; --i) {
      if (attempt([&](Network& network) { return keep_output(network, i); })) return true;
    }
    return false;
  }
  bool ends() {
    for (int i = 0; i + 1 < nodes(); ++i) {
      if (attempt([&](Network& network) { return end_at(network, i); })) return true;
    }
    return false;
  }
  bool cuts() {
    for (int i = nodes() - 2; i >= 0; --i) {
      for (const std::string& name : std::vector(network_.model.graph().node(i).output().begin(),
                                                 network_.model.graph().node(i).output().end())) {
        if (attempt([&](Network& network) { return cut(network, name); })) return true;
      }
    }
    return false;
  }
  bool bypasses() {
    for (int i = nodes() - 1; i >= 0; --i) {
      for (int port = 0; port < network_.model.graph().node(i).input_size(); ++port) {
        if (attempt([&](Network& network) { return bypass(network, i, port); })) return true;
      }
    }
    return false;
  }

  Network network_;
  const std::function<bool(const Network&)>& fails_;
  int tries_;
};

std::filesystem::path with_ending(const std::filesystem::path& stem, const char* ending) {
  return stem.string() + ending;
}

}  // namespace

void save_network(const Network& network, const std::filesystem::path& stem) {
  const std::string bytes = network.bytes();
  io::write_file(with_ending(stem, ".onnx"), std::as_bytes(std::span(bytes)));
  io::write_file(with_ending(stem, ".npz"), io::serialize_npz(network.inputs));
  std::filesystem::remove(with_ending(stem, ".elsewhere.npz"));
  if (!network.elsewhere.empty())
    io::write_file(with_ending(stem, ".elsewhere.npz"), io::serialize_npz(network.elsewhere));
  const nlohmann::json json = {{"samples", network.samples},
                               {"batch", network.batch},
                               {"rows", network.rows},
                               {"plain", network.plain},
                               {"dynamic_batch", network.dynamic_batch},
                               {"on_codes", network.on_codes}};
  const std::string text = json.dump();
  io::write_file(with_ending(stem, ".json"), std::as_bytes(std::span(text)));
}

Network load_network(const std::filesystem::path& stem) {
  Network network;
  if (!network.model.ParseFromString(io::read_text_file(with_ending(stem, ".onnx"))))
    fail(errors::saved_network_malformed(with_ending(stem, ".onnx").string()));
  network.inputs = io::read_npz(with_ending(stem, ".npz"));
  const auto json = nlohmann::json::parse(io::read_text_file(with_ending(stem, ".json")));
  network.samples = json["samples"], network.batch = json["batch"], network.rows = json["rows"];
  network.plain = json["plain"], network.dynamic_batch = json["dynamic_batch"];
  network.on_codes = json.value("on_codes", std::set<std::string>());
  if (const auto elsewhere = with_ending(stem, ".elsewhere.npz"); std::filesystem::exists(elsewhere))
    network.elsewhere = io::read_npz(elsewhere);
  if (const auto expected = with_ending(stem, ".expected.npz"); std::filesystem::exists(expected))
    network.expected = io::read_npz(expected);
  return network;
}

Network shrink(Network network, const std::function<bool(const Network&)>& fails, int tries) {
  return Shrinker(std::move(network), fails, tries).run();
}

}  // namespace halfstep::fuzz
