#include "python/src/network.h"

#include <fmt/format.h>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <numeric>

#include "halfstep/api/errors.h"
#include "python/src/arrays.h"
#include "python/src/dtypes.h"
#include "python/src/results.h"

namespace halfstep::python {
namespace {

constexpr std::string_view kRun = "run";

nb::dict inputs_of(const Network& network) {
  nb::dict inputs;
  const auto graph = network.graph();
  for (const Value argument : graph->arguments()) inputs[argument.name().c_str()] = type_tuple(argument.type());
  return inputs;
}

nb::dict outputs_of(const Network& network) {
  nb::dict outputs;
  const auto graph = network.graph();
  for (size_t i = 0; i < graph->outputs().size(); ++i)
    outputs[graph->body().output_names()[i].c_str()] = type_tuple(graph->outputs()[i].type());
  return outputs;
}

nb::dict run(Network& network, const nb::dict& inputs, const std::vector<std::string>& fetch) {
  const Tensors tensors = tensors_of(inputs, kRun);
  Tensors results;
  {
    const nb::gil_scoped_release release;
    results = network.runner()->run(tensors, fetch);
  }
  nb::dict arrays;  // in the order of the request
  for (const std::string& name : fetch.empty() ? network.graph()->body().output_names() : fetch)
    arrays[name.c_str()] = array_of(results.at(name));
  return arrays;
}

nb::bytes bytes_of(const Network& network) {
  const auto model = network.model();
  std::vector<std::byte> bytes;
  {
    const nb::gil_scoped_release release;
    bytes = serialize(*model);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

Network* from_bytes(const nb::bytes& bytes) {
  return new Network(deserialize({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()}, "pickled network"));
}

Network* from_onnx(const nb::bytes& file, const std::string& name) {
  const std::span bytes(reinterpret_cast<const std::byte*>(file.data()), file.size());
  const nb::gil_scoped_release release;
  return new Network(api::load_onnx(bytes, name));
}

/// Concatenates the tensors of batches by name.
Tensors joined(const nb::list& batches) {
  std::map<std::string, std::vector<Tensor>> parts;
  for (size_t i = 0; i < nb::len(batches); ++i) {
    const Tensors batch = tensors_of(nb::cast<nb::dict>(batches[i]), fmt::format("batch {}", i));
    for (const auto& [name, tensor] : batch) {
      std::vector<Tensor>& list = parts[name];
      const auto sample = [](const Tensor& t) { return std::span(t.dims()).subspan(1); };
      if (tensor.dims().empty())
        fail(errors::batches_differ(fmt::format("batch {}: '{}'", i, name), "one value", "samples along a first axis"));
      const bool fits = list.empty() ? i == 0
                                     : list.front().dtype() == tensor.dtype() &&
                                           std::ranges::equal(sample(list.front()), sample(tensor));
      if (!fits && list.empty())
        fail(errors::batches_differ(fmt::format("batch {}: '{}'", i, name), "a tensor", "none, as in earlier batches"));
      if (!fits)
        fail(errors::batches_differ(fmt::format("batch {}: '{}'", i, name), to_string(tensor.type()),
                                    to_string(list.front().type()) + ", as in earlier batches"));
      list.push_back(tensor);
    }
    if (batch.size() != parts.size())
      fail(errors::batches_differ(fmt::format("batch {}", i), fmt::format("{} tensors", batch.size()),
                                  fmt::format("{}, as in earlier batches", parts.size())));
  }
  Tensors all;
  for (const auto& [name, list] : parts) {
    if (list.size() == 1) {
      all.emplace(name, list.front());
      continue;
    }
    Dims dims = list.front().dims();
    dims[0] = 0;
    for (const Tensor& tensor : list) dims[0] += tensor.dims()[0];
    Tensor whole = Tensor::uninitialized(list.front().dtype(), std::move(dims));
    std::byte* to = whole.raw();
    for (const Tensor& tensor : list) to = std::copy_n(tensor.raw(), tensor.bytes(), to);
    all.emplace(name, std::move(whole));
  }
  return all;
}

api::Dataset* make_dataset(const nb::list& batches, const std::string& name, bool all, int64_t samples) {
  return new api::Dataset(api::make_data(joined(batches), name, {.all = all, .samples = samples}));
}

/// Copies the samples under "x" or the names of inputs, and "labels".
nb::dict arrays_of_dataset(const api::Dataset& data) {
  Tensors copies;
  for (const auto& [name, tensor] : data.inputs) copies.emplace(name, tensor.clone());
  if (data.x.defined()) copies.emplace("x", data.x.clone());
  if (data.images) {
    std::vector<int64_t> all(static_cast<size_t>(data.size()));
    std::iota(all.begin(), all.end(), int64_t{0});
    copies.emplace("x", data.batch(all));
  }
  if (data.has_labels()) copies.emplace("labels", data.labels.clone());
  for (const auto& [name, tensor] : data.targets) copies.emplace("target." + name, tensor.clone());
  return arrays_of(std::move(copies));
}

}  // namespace

nb::tuple type_tuple(const Type& type) {
  nb::list dims;
  for (const int64_t extent : type.dims) dims.append(extent == kUnknown ? nb::none() : nb::cast(extent));
  return nb::make_tuple(dtype_object(type.dtype), nb::tuple(dims));
}

std::shared_ptr<const Model> Network::model() const {
  const std::scoped_lock lock(mutex_);
  return is_shared_ ? std::make_shared<const Model>(clone(*model_)) : model_;
}

std::shared_ptr<const Graph> Network::graph() const {
  const std::scoped_lock lock(mutex_);
  return {model_, &model_->graph};
}

Model Network::share() {
  const std::scoped_lock lock(mutex_);
  if (!is_shared_) model_ = std::make_shared<const Model>(clone(*model_));
  is_shared_ = true;
  return *model_;
}

void Network::become(Model next) {
  const std::scoped_lock lock(mutex_);
  runner_.reset();
  if (is_shared_) {
    for (auto& [name, tensor] : next.tensors) {
      const auto shared = model_->tensors.find(name);
      if (shared == model_->tensors.end() || shared->second.type() != tensor.type()) continue;
      Tensor stays = shared->second;
      if (stays.bytes() > 0) std::memcpy(stays.raw(), tensor.raw(), stays.bytes());
      tensor = std::move(stays);
    }
  }
  model_ = std::make_shared<const Model>(std::move(next));
}

std::shared_ptr<api::Runner> Network::runner() {
  const std::scoped_lock lock(mutex_);
  const uint64_t now = is_shared_ ? digest(*model_) : runs_digest_;
  if (!runner_ || now != runs_digest_) runner_ = std::make_shared<api::Runner>(*model_, eager::threads());
  runs_digest_ = now;
  return runner_;
}

void define_networks(nb::module_& module) {
  nb::class_<Network>(module, "Network")
      .def("stage", [](const Network& network) { return std::string(name(api::stage_of(*network.model()))); })
      .def("name", [](const Network& network) { return network.graph()->name(); })
      .def("inputs", &inputs_of)
      .def("outputs", &outputs_of)
      .def("values", [](const Network& network) { return api::value_names(*network.model()); })
      .def("metadata", [](const Network& network) { return metadata_json(*network.model()); })
      .def("text", [](const Network& network) { return api::graph_text(*network.model()); })
      .def("digest", [](const Network& network) { return digest_hex(*network.model()); })
      .def(
          "copy", [](const Network& network) { return new Network(clone(*network.model())); },
          nb::rv_policy::take_ownership)
      .def("bytes", &bytes_of)
      .def("run", &run, nb::arg("inputs"), nb::arg("fetch"));
  module.def("network_of", &from_bytes, nb::arg("bytes"), nb::rv_policy::take_ownership);
  module.def("network_of_onnx", &from_onnx, nb::arg("file"), nb::arg("name"), nb::rv_policy::take_ownership);

  nb::class_<api::Dataset>(module, "Dataset")
      .def("__len__", &api::Dataset::size)
      .def_prop_ro("name", [](const api::Dataset& data) { return data.name; })
      .def_prop_ro("classes", [](const api::Dataset& data) { return data.classes; })
      .def_prop_ro("has_labels", &api::Dataset::has_labels)
      .def("arrays", &arrays_of_dataset);
  module.def("make_dataset", &make_dataset, nb::arg("batches"), nb::arg("name"), nb::arg("all"), nb::arg("samples"),
             nb::rv_policy::take_ownership);
}

}  // namespace halfstep::python
