// Gradients of small networks against central differences of their loss, evaluated with the reference kernels.
#include "halfstep/passes/gradient/autodiff.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/optimize/cse.h"
#include "halfstep/passes/optimize/simplify.h"
#include "tests/passes/reference_run.h"

namespace halfstep::passes {
namespace {

float loss_of(const Model& model) { return outputs_for_samples(model).at("loss").data<float>()[0]; }

/// (loss(p + h) - loss(p - h)) / 2h for one element of a parameter. The step balances the rounding of a float32 loss of
/// magnitude 1 (1e-7 / h) against the curvature (h^2).
double central_difference(Model model, const std::string& name, size_t element) {
  constexpr float kStep = 1.0f / 128;
  Tensor& contents = model.tensors.at(name);
  contents = contents.clone();
  const float before = contents.data<float>()[element];
  contents.data<float>()[element] = before + kStep;
  const double above = loss_of(model);
  contents.data<float>()[element] = before - kStep;
  const double below = loss_of(model);
  return (above - below) / (2.0 * kStep);
}

/// Differentiates `text` with respect to every parameter. The gradients become outputs.
Model differentiated(const std::string& text) {
  Model model = sample_model(parse(text));
  std::vector<std::string> parameters;
  for (const Value tensor : model.graph.tensors()) {
    if (tensor.role() == Role::parameter) parameters.push_back(tensor.name());
  }
  const Gradients gradients = autodiff(model, model.graph.value("loss"), parameters);
  std::vector<Value> outputs = model.graph.outputs();
  std::vector<std::string> names = model.graph.body().output_names();
  for (const auto& [name, gradient] : gradients.of) {
    outputs.push_back(gradient);
    names.push_back(name);
  }
  model.graph.set_outputs(outputs, names);
  verify(model.graph);
  return model;
}

void expect_gradients(const std::string& text) {
  constexpr double kTolerance = 2e-3;
  const Model forward = sample_model(parse(text));
  const auto outputs = outputs_for_samples(differentiated(text));
  for (const auto& [name, gradient] : outputs) {
    if (!forward.tensors.contains(name)) continue;
    ASSERT_EQ(gradient.type(), forward.tensors.at(name).type());
    for (size_t i = 0; i < gradient.data<float>().size(); ++i) {
      const double wanted = central_difference(forward, name, i);
      EXPECT_NEAR(gradient.data<float>()[i], wanted, kTolerance * std::max(1.0, std::fabs(wanted)))
          << name << "[" << i << "]";
    }
  }
}

constexpr const char* kConvolutions = R"(
graph convolutions(x: f32[2, 3, 6, 6], labels: i32[2]) {
  param @c1.w: f32[4, 3, 3, 3]
  param @c1.b: f32[4]
  param @c2.w: f32[4, 1, 3, 3]
  param @c2.b: f32[4]
  param @l.w: f32[8, 4]
  param @l.b: f32[8]
  c1 = conv2d(x, w=@c1.w, b=@c1.b) {pad: [1, 1, 1, 1]}
  a1 = sigmoid(c1)
  c2 = conv2d(a1, w=@c2.w, b=@c2.b) {groups: 4, stride: [2, 1], pad: [1, 0, 1, 2]}
  a2 = silu(c2)
  p = global_avg_pool(a2)
  f = flatten(p)
  l = linear(f, w=@l.w, b=@l.b)
  loss = softmax_cross_entropy(l, labels=labels)
  return loss
})";

constexpr const char* kResidual = R"(
graph residual(x: f32[2, 4, 4, 4], t: f32[2, 8, 2, 2]) {
  param @w: f32[4, 4, 1, 1]
  param @g: f32[4]
  param @h: f32[4]
  state @m: f32[4]
  state @variance: f32[4]
  c = conv2d(x, w=@w)
  n = batch_norm(c, scale=@g, bias=@h, mean=@m, variance=@variance) {is_test: false}
  s = add(a=n, b=x)
  r = sigmoid(s)
  k = concat(x=[r, s])
  p = avg_pool2d(k) {kernel: [2, 2], stride: [2, 2]}
  y = mul(a=p, b=t)
  q = transpose(y) {perm: [0, 2, 3, 1]}
  z = reshape(q) {dims: [0, -1]}
  loss = reduce_sum(z) {axes: []}
  return loss
})";

// @p is read four times, by broadcasting operators, and twice by one of them.
constexpr const char* kManyReaders = R"(
graph many_readers(x: f32[3, 4]) {
  param @p: f32[4]
  param @q: f32[3, 1]
  a = mul(a=@p, b=@p)
  b = add(a=x, b=@p)
  c = mul(a=b, b=a)
  d = mul(a=c, b=@q)
  e = sigmoid(d)
  f = mul(a=e, b=@p)
  loss = reduce_mean(f) {axes: []}
  return loss
})";

// Parts of @p in any order, with ends that count from the back. Parts of @q with a gap, and of @r with an overlap.
constexpr const char* kParts = R"(
graph parts(x: f32[2, 3]) {
  param @p: f32[2, 6]
  param @q: f32[2, 6]
  param @r: f32[2, 6]
  a = slice(@p) {starts: [2], ends: [-1], axes: [-1]}
  b = slice(@p) {starts: [-1], ends: [100], axes: [1]}
  c = slice(@p) {starts: [0], ends: [2], axes: [1]}
  d = slice(@q) {starts: [0], ends: [2], axes: [1]}
  e = slice(@q) {starts: [3], ends: [6], axes: [1]}
  f = slice(@r) {starts: [0], ends: [4], axes: [1]}
  g = slice(@r) {starts: [3], ends: [6], axes: [1]}
  h = mul(a=a, b=x)
  i = mul(a=e, b=g)
  j = concat(x=[c, h, b, d, i, f]) {axis: 1}
  k = sigmoid(j)
  loss = reduce_sum(k) {axes: []}
  return loss
})";

TEST(Autodiff, Parts) {
  expect_gradients(kParts);
  Model model = differentiated(kParts);
  dce(model);
  EXPECT_EQ(model.graph.all<ops::Concat>().size(), 2U);     // the gradient of @p, and the network's own concat
  EXPECT_EQ(model.graph.all<ops::SliceGrad>().size(), 4U);  // gradients of @q and @r
}

TEST(Autodiff, Convolutions) { expect_gradients(kConvolutions); }
TEST(Autodiff, ResidualWithBatchNorm) { expect_gradients(kResidual); }
TEST(Autodiff, ManyReaders) { expect_gradients(kManyReaders); }

// The passes that training runs after autodiff keep the gradients bit for bit.
TEST(Autodiff, CleaningPassesKeepGradients) {
  for (const char* text : {kConvolutions, kResidual, kManyReaders, kParts}) {
    Model model = differentiated(text);
    const auto before = outputs_for_samples(model);
    simplify(model.graph);
    cse(model.graph);
    dce(model);
    verify(model.graph);
    const auto after = outputs_for_samples(model);
    for (const auto& [name, tensor] : before) EXPECT_TRUE(tensor.same_bits(after.at(name))) << name;
  }
}

}  // namespace
}  // namespace halfstep::passes
