#include "halfstep/kernels/integer/cpu/layer.h"

#include "halfstep/kernels/ops.h"

namespace halfstep::kernels::integer {
namespace {

template <class Typed>
void read_attributes(const Typed& attributes, const Problem& problem, Layer& layer) {
  layer.wide_in = problem.in[Typed::in::x]->dtype == DType::u16;
  layer.wide_out = problem.out[Typed::out::out_]->dtype == DType::u16;
  layer.x_zero_point = static_cast<int32_t>(attributes.x_zero_point);
  layer.y_zero_point = static_cast<int32_t>(attributes.y_zero_point);
  layer.clamp = clamp_of(attributes);
  layer.form = step_form(attributes, problem.in[Typed::in::w]->dims);
  layer.step_count = problem.in[static_cast<size_t>(step_port(layer.form.form))]->dims[0];
}

Layer conv2d_layer(const Problem& problem) {
  const IntegerConv2d attributes(problem.attributes);
  const Dims& x = problem.in[IntegerConv2d::in::x]->dims;
  const Dims& w = problem.in[IntegerConv2d::in::w]->dims;
  const Dims& out = problem.out[IntegerConv2d::out::out_]->dims;
  Layer layer;
  layer.images = x[0];
  layer.groups = attributes.groups;
  layer.channels = w[1];
  layer.outputs = w[0] / attributes.groups;
  layer.in = {x[2], x[3]};
  layer.out = {out[2], out[3]};
  layer.kernel = {w[2], w[3]};
  layer.stride = {attributes.stride[0], attributes.stride[1]};
  layer.dilation = {attributes.dilation[0], attributes.dilation[1]};
  layer.pad = {attributes.pad[0], attributes.pad[1]};
  read_attributes(attributes, problem, layer);
  return layer;
}

Layer linear_layer(const Problem& problem) {
  const IntegerLinear attributes(problem.attributes);
  const Dims& x = problem.in[IntegerLinear::in::x]->dims;
  Layer layer;
  layer.linear = true;
  layer.channels = x[1];
  layer.outputs = problem.in[IntegerLinear::in::w]->dims[0];
  layer.in = layer.out = {x[0], 1};
  read_attributes(attributes, problem, layer);
  return layer;
}

}  // namespace

Layer layer_of(const Problem& problem) {
  return problem.in[IntegerLinear::in::x]->dims.size() == 2 ? linear_layer(problem) : conv2d_layer(problem);
}

}  // namespace halfstep::kernels::integer
