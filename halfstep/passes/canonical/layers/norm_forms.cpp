#include "halfstep/passes/canonical/layers/norm_forms.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

class NormForms {
 public:
  explicit NormForms(Model& model) : model_(model) {}

  void rewrite_groups() {
    for (const Op op : model_.graph.ops()) {
      if (op.is<ops::InstanceNorm>()) {
        const ops::InstanceNorm norm(op.node());
        rewrite(op, norm.x().dims().at(1), norm.epsilon());
      } else if (op.is<ops::GroupNorm>()) {
        const ops::GroupNorm norm(op.node());
        rewrite(op, norm.num_groups(), norm.epsilon());
      }
    }
    erase_unused();
  }

  void separate_factors() {
    for (const Op op : model_.graph.ops()) {
      if (op.is<ops::LayerNorm>()) separate(op, ops::LayerNorm(op.node()).bias());
      if (op.is<ops::RmsNorm>()) separate(op, {});
    }
    erase_unused();
  }

 private:
  /// `op` has operands x[n, c, ...], factors and offsets.
  void rewrite(Op op, int64_t groups, double epsilon) {
    const Value x = op.in(0);
    const Dims& dims = x.dims();
    const bool has_elements = std::ranges::none_of(dims.begin() + 1, dims.end(), [](int64_t e) { return e == 0; });
    if (!has_elements || dims[1] == kUnknown || x.dtype() != DType::f32 || !is_stored_f32(op.in(1)) ||
        !is_stored_f32(op.in(2)))
      return;
    const bool is_open = std::ranges::count(dims.begin() + 2, dims.end(), kUnknown) > 0;
    const int64_t size = is_open ? 1 : count_elements(std::span(dims).subspan(1)) / groups;
    const Value ones = constant(op, ".ones", filled({size}, 1.0F));
    const Value rows = insert(op, ops::Reshape::record(), {x}, {{"dims", Dims{0, groups, is_open ? -1 : size}}});
    const Value normal = insert(op, ops::LayerNorm::record(), {rows, ones}, {{"epsilon", epsilon}});
    Value made = as_image(op, normal, x);
    made = applied(op, ops::Mul::record(), made, by_channel(op.in(1), dims), 1);
    made = applied(op, ops::Add::record(), made, by_channel(op.in(2), dims), 0);
    replace(model_.graph, op, made.producer());
  }

  /// Reshapes rows[n, groups, ...] to the extents of image[n, c, ...]. Each step fixes one dynamic extent, and the last
  /// one, -1, results from the others.
  Value as_image(Op op, Value rows, Value image) {
    Dims dims = image.dims();
    dims[0] = 0;
    for (size_t axis = 2; axis < dims.size(); ++axis) {
      const auto open = static_cast<int64_t>(axis);
      if (dims[axis] != kUnknown || std::find(dims.begin() + open + 1, dims.end(), kUnknown) == dims.end()) continue;
      Dims step(dims.begin(), dims.begin() + open + 1);
      step.push_back(-1);
      rows = insert(op, ops::ReshapeBy::record(), {rows, image}, {{"dims", step}, {"at", open}, {"axis", open}});
      std::fill(dims.begin(), dims.begin() + open + 1, 0);
    }
    return insert(op, ops::Reshape::record(), {rows}, {{"dims", dims}});
  }

  void separate(Op op, Value bias) {
    const Value factor = op.in(1);
    if (!is_stored_f32(factor) || (bias && !is_stored_f32(bias)) || factor.dims() != Dims{op.in(0).dims().back()})
      return;
    if (!bias && has_powers_of_two(model_, factor)) return;
    const Value ones = constant(op, ".ones", filled(factor.dims(), 1.0F));
    Value made = insert(op, op.info(), {op.in(0), ones}, op.attributes());
    made = applied(op, ops::Mul::record(), made, factor, 1);
    if (bias) made = applied(op, ops::Add::record(), made, bias, 0);
    replace(model_.graph, op, made.producer());
  }

  static Tensor filled(const Dims& dims, float number) {
    Tensor tensor(DType::f32, dims);
    std::ranges::fill(tensor.data<float>(), number);
    return tensor;
  }

  /// Inserts `info` unless every number is the neutral one.
  Value applied(Op op, const OpInfo& info, Value x, Value numbers, float neutral) {
    const auto all = std::as_const(model_.tensors.at(numbers.name())).data<float>();
    const bool is_neutral =
        numbers.role() == Role::constant && std::ranges::all_of(all, [&](float one) { return one == neutral; });
    return is_neutral ? x : insert(op, info, {x, numbers}, {});
  }

  /// Returns the numbers of channels or groups with the extents [c, 1, ...].
  Value by_channel(Value numbers, const Dims& x) {
    const Tensor& given = model_.tensors.at(numbers.name());
    Dims dims(x.size() - 1, 1);
    dims[0] = x[1];
    Tensor made(DType::f32, dims);
    const int64_t each = x[1] / given.size();
    for (int64_t c = 0; c < x[1]; ++c)
      made.data<float>()[static_cast<size_t>(c)] = given.data<float>()[static_cast<size_t>(c / each)];
    return add_tensor(model_, numbers.name() + ".channels", std::move(made), numbers.role());
  }

  Value constant(Op op, const char* suffix, Tensor contents) {
    return add_tensor(model_, op.name() + suffix, std::move(contents), Role::constant);
  }

  Value insert(Op before, const OpInfo& info, std::vector<Value> operands, Attributes attributes) {
    return insert_before(model_.graph, before, info, std::move(operands), std::move(attributes)).out(0);
  }

  void erase_unused() {
    for (const Value tensor : model_.graph.tensors()) {
      if (tensor.unused()) erase_tensor(model_, tensor);
    }
  }

  Model& model_;
};

}  // namespace

void norm_forms(Model& model) { NormForms(model).rewrite_groups(); }

bool has_powers_of_two(const Model& model, Value factor) {
  if (!is_stored_f32(factor) || factor.role() != Role::constant) return false;
  const auto is_power_of_two = [](float number) {
    int exponent = 0;
    return number > 0 && std::frexp(number, &exponent) == 0.5F;
  };
  return std::ranges::all_of(std::as_const(model.tensors.at(factor.name())).data<float>(), is_power_of_two);
}

void separate_norm_factors(Model& model) { NormForms(model).separate_factors(); }

}  // namespace halfstep::passes
