// Networks in PyTorch training loops. Tensors are exchanged through DLPack.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/network.h"

namespace halfstep::python {
namespace {

constexpr std::string_view kForward = "forward";
constexpr std::string_view kBackward = "backward";

nb::dict torch_tensors(const Tensors& tensors) {
  nb::dict result;
  for (const auto& [name, tensor] : tensors) result[name.c_str()] = torch_tensor(tensor);
  return result;
}

/// Makes a network trainable. Returns it with its tensors and their roles: "parameter" or "state".
nb::tuple make_trainable(Network& network) {
  const Model model = network.share();
  auto trainable = std::make_unique<api::Trainable>(model, eager::threads());
  nb::dict tensors;
  for (const auto& [tensor, role] : trainable->roles())
    tensors[tensor.c_str()] =
        nb::make_tuple(role == Role::parameter ? "parameter" : "state", torch_tensor(model.tensors.at(tensor)));
  return nb::make_tuple(nb::cast(trainable.release(), nb::rv_policy::take_ownership), tensors);
}

api::Trainable::Run* forward(api::Trainable& trainable, const nb::dict& inputs,
                             const std::vector<std::string>& wanted) {
  const Tensors tensors = tensors_of(inputs, kForward);
  const nb::gil_scoped_release release;
  return new api::Trainable::Run(trainable.forward(tensors, wanted));
}

/// Returns copies, because later runs read the outputs themselves.
nb::dict outputs(const api::Trainable::Run& run) {
  Tensors copies;
  for (const auto& [name, tensor] : run.outputs()) copies.emplace(name, tensor.clone());
  return torch_tensors(copies);
}

nb::dict backward(api::Trainable::Run& run, const nb::dict& output_gradients) {
  const Tensors tensors = tensors_of(output_gradients, kBackward);
  Tensors gradients;
  {
    const nb::gil_scoped_release release;
    gradients = run.backward(tensors);
  }
  return torch_tensors(gradients);
}

}  // namespace

void define_trainables(nb::module_& module) {
  nb::class_<api::Trainable::Run>(module, "TrainableRun")
      .def("outputs", &outputs)
      .def("backward", &backward, nb::arg("output_gradients"));
  nb::class_<api::Trainable>(module, "Trainable")
      .def("forward", &forward, nb::arg("inputs"), nb::arg("wanted"))
      .def("settle", &api::Trainable::settle);
  module.def("make_trainable", &make_trainable, nb::arg("network"));
}

}  // namespace halfstep::python
