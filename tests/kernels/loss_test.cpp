// softmax and softmax_cross_entropy against formulas in f64, at extremes, and with labels that are not a class.
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

const Attributes kAlongLast = {{"axis", int64_t{-1}}, {"flattened", false}};

Tensor labels_tensor(const std::vector<int32_t>& labels) {
  return Tensor::of<int32_t>(DType::i32, {static_cast<int64_t>(labels.size())}, labels);
}

KernelCase loss_case(const Tensor& logits, const std::vector<int32_t>& labels) {
  return {"softmax_cross_entropy", {}, {logits, labels_tensor(labels)}, {Type{DType::f32, {1}}}};
}

std::vector<int32_t> some_labels(int64_t n, int64_t classes) {
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<int32_t>(i * 7 % classes));
  return labels;
}

/// Does not subtract the largest logit, so it is for moderate logits only.
double plain_loss(const std::vector<double>& logits, const std::vector<int32_t>& labels, int64_t classes) {
  double total = 0;
  for (size_t row = 0; row < labels.size(); ++row) {
    double sum = 0;
    for (int64_t i = 0; i < classes; ++i) sum += std::exp(logits[row * classes + i]);
    total -= std::log(std::exp(logits[row * classes + labels[row]]) / sum);
  }
  return total / static_cast<double>(labels.size());
}

TEST(Softmax, RowsAddUpToOneAndFollowTheFormula) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = normal_tensor({3, 67, 10}, 1, dtype);
    const Tensor out = run_every_way(reference_softmax, {"softmax", kAlongLast, {x}, {x.type()}}, CpuLevel::scalar)[0];
    const auto at = [](const Tensor& t, int64_t i) {
      return t.dtype() == DType::f32 ? double{t.data<float>()[i]} : t.data<double>()[i];
    };
    for (int64_t row = 0; row < 201; ++row) {
      double sum = 0, total = 0;
      for (int64_t i = 0; i < 10; ++i) sum += std::exp(at(x, row * 10 + i));
      for (int64_t i = 0; i < 10; ++i) {
        EXPECT_NEAR(at(out, row * 10 + i), std::exp(at(x, row * 10 + i)) / sum, dtype == DType::f32 ? 1e-7 : 1e-15);
        total += at(out, row * 10 + i);
      }
      EXPECT_NEAR(total, 1.0, 1e-6);
    }
  }
}

TEST(Softmax, NeitherOverflowsNorTakesEmptyRows) {
  const Tensor x = f32_values({2, 2}, {1e30F, 1e30F, -1e30F, 1e30F});
  EXPECT_TRUE(same_bits(f32_values({2, 2}, {0.5F, 0.5F, 0, 1}),
                        run_kernel(reference_softmax, {"softmax", kAlongLast, {x}, {x.type()}}, CpuLevel::scalar)[0]));
  const Tensor empty(DType::f32, {3, 0});
  EXPECT_EQ(run_kernel(reference_softmax, {"softmax", kAlongLast, {empty}, {empty.type()}}, CpuLevel::scalar)[0].size(),
            0);
}

/// A tail of e^-88 to e^-103 is a subnormal number other than 0: a ceil behind it results in 1.
// A0.2
TEST(Softmax, KeepsSubnormalTails) {
  std::vector<float> line(37, 0.0F);
  for (int i = 1; i < 37; ++i) line[static_cast<size_t>(i)] = -70.0F - static_cast<float>(i);
  const Tensor x = f32_values({1, 37}, line);
  const KernelCase use{"softmax", kAlongLast, {x}, {x.type()}};
  for (const CpuLevel level : available_cpu_levels()) {
    if (level == CpuLevel::scalar) continue;
    const Tensor out = run_kernel(cpu_softmax_rows, use, level)[0];
    for (int i = 0; i < 37; ++i) {
      const double exact = std::exp(double{line[static_cast<size_t>(i)]});
      EXPECT_NEAR(out.data<float>()[i], exact, 3e-7 * exact + 0x1p-149) << i;
    }
  }
}

TEST(SoftmaxCrossEntropy, FollowsTheFormula) {
  for (const int64_t n : {1, 7, 200}) {
    const Tensor logits = normal_tensor({n, 10}, 1);
    const auto labels = some_labels(n, 10);
    const auto values = logits.data<float>();
    const double want = plain_loss({values.begin(), values.end()}, labels, 10);
    EXPECT_NEAR(
        run_every_way(reference_softmax_cross_entropy, loss_case(logits, labels), CpuLevel::scalar)[0].data<float>()[0],
        want, 1e-6 * want);
  }
}

TEST(SoftmaxCrossEntropy, StaysFiniteAtLargeLogits) {
  const Tensor out = run_kernel(reference_softmax_cross_entropy,
                                loss_case(f32_values({2, 2}, {1000, 0, 0, 1000}), {0, 0}), CpuLevel::scalar)[0];
  EXPECT_EQ(out.data<float>()[0], 500.0F);
}

TEST(SoftmaxCrossEntropy, GradientIsThatOfFiniteDifferences) {
  const Tensor logits = normal_tensor({3, 5}, 1);
  const auto labels = some_labels(3, 5);
  const KernelCase use{
      "softmax_cross_entropy_grad", {}, {logits, labels_tensor(labels), f32_values({1}, {2.5F})}, {logits.type()}};
  const Tensor gradient = run_every_way(reference_softmax_cross_entropy_grad, use, CpuLevel::scalar)[0];
  const auto values = logits.data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> up(values.begin(), values.end()), down = up;
    up[i] += kStep;
    down[i] -= kStep;
    const double numeric = 2.5 * (plain_loss(up, labels, 5) - plain_loss(down, labels, 5)) / (2 * kStep);
    EXPECT_NEAR(gradient.data<float>()[i], numeric, 1e-7);
  }
}

TEST(SoftCrossEntropy, IsTheMeanOfThoseOfItsClasses) {
  const Tensor logits = normal_tensor({3, 4}, 1),
               targets = f32_values({3, 4}, {1, 0, 0, 0, 0, 0.25F, 0.75F, 0, 0, 0, 0, 2});
  const auto values = logits.data<float>();
  const std::vector<double> rows(values.begin(), values.end());
  const auto row_loss = [&](const std::vector<double>& of, size_t row, int32_t label) {
    return plain_loss({of.begin() + row * 4, of.begin() + row * 4 + 4}, {label}, 4);
  };
  const auto plain = [&](const std::vector<double>& of) {
    return (row_loss(of, 0, 0) + 0.25 * row_loss(of, 1, 1) + 0.75 * row_loss(of, 1, 2) + 2 * row_loss(of, 2, 3)) / 3;
  };
  const KernelCase use{"soft_cross_entropy", {}, {logits, targets}, {Type{DType::f32, {1}}}};
  EXPECT_NEAR(run_every_way(reference_soft_cross_entropy, use, CpuLevel::scalar)[0].data<float>()[0], plain(rows),
              1e-6);
  const KernelCase back{"soft_cross_entropy_grad", {}, {logits, targets, f32_values({1}, {2.5F})}, {logits.type()}};
  const Tensor gradient = run_every_way(reference_soft_cross_entropy_grad, back, CpuLevel::scalar)[0];
  for (size_t i = 0; i < rows.size(); ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> up = rows, down = rows;
    up[i] += kStep;
    down[i] -= kStep;
    EXPECT_NEAR(gradient.data<float>()[i], 2.5 * (plain(up) - plain(down)) / (2 * kStep), 1e-6);
  }
}

TEST(SoftmaxCrossEntropy, NamesTheFirstLabelThatIsNoClass) {
  const Tensor logits = normal_tensor({3, 10}, 1);
  const auto failure = [&](const std::vector<int32_t>& labels) {
    const Diagnostic found = failure_of(reference_softmax_cross_entropy, loss_case(logits, labels), CpuLevel::scalar);
    const KernelCase grad{
        "softmax_cross_entropy_grad", {}, {logits, labels_tensor(labels), f32_values({1}, {1})}, {logits.type()}};
    EXPECT_EQ(found, failure_of(reference_softmax_cross_entropy_grad, grad, CpuLevel::scalar));
    return found;
  };
  EXPECT_EQ(failure({0, 9, 5}), Diagnostic{});
  EXPECT_EQ(failure({0, 10, -1}), errors::operand_index_out_of_range("label of sample 1", 10, "0 to 9"));
  EXPECT_EQ(failure({0, 3, -1}), errors::operand_index_out_of_range("label of sample 2", -1, "0 to 9"));
}

}  // namespace
}  // namespace halfstep::kernels
