// Functions of layers. python/halfstep/nn.py has the layers with their parameters.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/arrays.h"
#include "python/src/captured.h"

namespace halfstep::python {
namespace {

using capture::layers::Axes;

/// An array, None as an absent one, or a value that can become an array on this device.
Array operand(nb::handle object, Place place = capture::switches().place) {
  if (object.is_none()) return {};
  if (const Array* own = as_array_of_ours(object.ptr())) return *own;
  return Array(tensor_of(object, "layer", "x"), place);
}

nb::object linear(nb::handle x, const Array& weight, nb::handle bias) {
  const InContext in_context;
  return object_of(capture::layers::linear(operand(x, weight.place()), weight, operand(bias)));
}

nb::object dropout(nb::handle x, double rate) {
  const InContext in_context;
  return object_of(capture::layers::dropout(operand(x), rate));
}

nb::object conv(nb::handle x, const Array& weight, nb::handle bias, const Axes& stride, const Axes& dilation,
                const Axes& pad, int64_t groups, const std::string& pad_mode) {
  const InContext in_context;
  return object_of(capture::layers::conv(operand(x, weight.place()), weight, operand(bias),
                                         {stride, dilation, pad, groups, pad_mode}));
}

nb::object conv_transpose(nb::handle x, const Array& weight, nb::handle bias, const Axes& stride, const Axes& dilation,
                          const Axes& pad, int64_t groups, const Axes& output_padding) {
  const InContext in_context;
  return object_of(capture::layers::conv_transpose(operand(x, weight.place()), weight, operand(bias),
                                                   {stride, dilation, pad, groups, "constant", output_padding}));
}

nb::object max_pool(nb::handle x, const Axes& kernel, const Axes& stride, const Axes& dilation, const Axes& pad,
                    bool ceil_mode) {
  const InContext in_context;
  return object_of(capture::layers::max_pool(operand(x), {kernel, stride, dilation, pad, ceil_mode}));
}

nb::object avg_pool(nb::handle x, const Axes& kernel, const Axes& stride, const Axes& pad, bool ceil_mode,
                    bool count_include_pad) {
  const InContext in_context;
  return object_of(capture::layers::avg_pool(operand(x), {kernel, stride, {}, pad, ceil_mode, count_include_pad}));
}

nb::object instance_norm(nb::handle x, nb::handle weight, nb::handle bias, int64_t channels, double epsilon) {
  const InContext in_context;
  return object_of(capture::layers::instance_norm(operand(x), operand(weight), operand(bias), channels, epsilon));
}

nb::object group_norm(nb::handle x, nb::handle weight, nb::handle bias, int64_t channels, int64_t groups,
                      double epsilon) {
  const InContext in_context;
  return object_of(capture::layers::group_norm(operand(x), operand(weight), operand(bias), channels, groups, epsilon));
}

nb::object prelu(nb::handle x, const Array& weight) {
  const InContext in_context;
  return object_of(capture::layers::prelu(operand(x, weight.place()), weight));
}

nb::object upsample(nb::handle x, const Axes& size, const std::vector<double>& scale, const std::string& mode,
                    bool align_corners) {
  const InContext in_context;
  return object_of(capture::layers::upsample(operand(x), {size, scale, mode, align_corners}));
}

nb::list recurrent(nb::handle x, const std::vector<nb::object>& states, const std::vector<nb::object>& parameters,
                   const std::string& op, const std::string& activation, int64_t hidden, int64_t num_layers, bool bias,
                   bool batch_first, double dropout, bool bidirectional) {
  const InContext in_context;
  const capture::Arrays learned = arrays_in(parameters);
  return objects_of(
      capture::layers::recurrent(operand(x, learned[0].place()), arrays_in(states), learned,
                                 {op, activation, hidden, {num_layers, bias, batch_first, dropout, bidirectional}}));
}

nb::list multi_head_attention(const std::vector<nb::object>& query_key_value, const std::vector<nb::object>& in_weights,
                              nb::handle in_bias, const Array& out_weight, nb::handle out_bias, nb::handle keys,
                              nb::handle pairs, int64_t heads, double dropout, bool batch_first, bool need_weights,
                              bool average_weights) {
  const InContext in_context;
  capture::Arrays inputs;
  for (const nb::object& each : query_key_value) inputs.push_back(operand(each, out_weight.place()));
  const int64_t embed = out_weight.dims()[0];
  return objects_of(capture::layers::multi_head_attention(
      inputs, {arrays_in(in_weights), operand(in_bias), out_weight, operand(out_bias)},
      {operand(keys, out_weight.place()), operand(pairs, out_weight.place())},
      {embed, heads, dropout, batch_first, need_weights, average_weights}));
}

}  // namespace

void define_layers(nb::module_& module) {
  module.def("linear", &linear, nb::arg("x"), nb::arg("weight"), nb::arg("bias").none());
  module.def("dropout", &dropout);
  module.def("conv", &conv, nb::arg("x"), nb::arg("weight"), nb::arg("bias").none(), nb::arg("stride"),
             nb::arg("dilation"), nb::arg("pad"), nb::arg("groups"), nb::arg("pad_mode"));
  module.def("conv_transpose", &conv_transpose, nb::arg("x"), nb::arg("weight"), nb::arg("bias").none(),
             nb::arg("stride"), nb::arg("dilation"), nb::arg("pad"), nb::arg("groups"), nb::arg("output_padding"));
  module.def("max_pool", &max_pool);
  module.def("avg_pool", &avg_pool);
  module.def("instance_norm", &instance_norm, nb::arg("x"), nb::arg("weight").none(), nb::arg("bias").none(),
             nb::arg("channels"), nb::arg("epsilon"));
  module.def("group_norm", &group_norm, nb::arg("x"), nb::arg("weight").none(), nb::arg("bias").none(),
             nb::arg("channels"), nb::arg("groups"), nb::arg("epsilon"));
  module.def("prelu", &prelu);
  module.def("upsample", &upsample);
  module.def("recurrent", &recurrent);
  module.def("multi_head_attention", &multi_head_attention, nb::arg("query_key_value"), nb::arg("in_weights"),
             nb::arg("in_bias").none(), nb::arg("out_weight"), nb::arg("out_bias").none(), nb::arg("keys").none(),
             nb::arg("pairs").none(), nb::arg("heads"), nb::arg("dropout"), nb::arg("batch_first"),
             nb::arg("need_weights"), nb::arg("average_weights"));
}

}  // namespace halfstep::python
