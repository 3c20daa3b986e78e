// Operators that move elements, against plain index arithmetic, for element sizes of 1 to 8 bytes.
#include "tests/kernels/float_cases.h"

namespace halfstep::kernels {
namespace {

/// Every byte differs from its neighbours.
Tensor bytes_tensor(DType dtype, Dims dims) {
  Tensor tensor(dtype, std::move(dims));
  for (size_t i = 0; i < tensor.bytes(); ++i) tensor.raw()[i] = static_cast<std::byte>(i * 37 + i / 256);
  return tensor;
}

const std::vector<DType> kTypes = {DType::u8, DType::u16, DType::i32,
                                   DType::i64};  // with float elements, NaN would compare equal

void expect_copies(const Kernel& reference, const Kernel& copy, const KernelCase& use) {
  const Tensor want = use.in[0].reshaped(use.out[0]->dims);
  EXPECT_TRUE(same_bits(want, run_kernel(reference, use, CpuLevel::scalar)[0]));
  EXPECT_TRUE(same_bits(want, run_every_way(copy, use, CpuLevel::scalar)[0]));
}

// A5.1
TEST(Reshape, KeepsTheElements) {
  for (const DType dtype : kTypes) {
    for (const int64_t rows : {0, 3, 30001}) {
      const Tensor x = bytes_tensor(dtype, {rows, 4, 5});
      const Type flat{dtype, {rows, 20}};
      expect_copies(reference_reshape, cpu_reshape_copy,
                    {"reshape", {{"dims", std::vector<int64_t>{0, -1}}}, {x}, {flat}});
      expect_copies(reference_flatten, cpu_flatten_copy, {"flatten", {{"axis", int64_t{1}}}, {x}, {flat}});
      expect_copies(reference_reshape_like, cpu_reshape_like_copy,
                    {"reshape_like", {}, {x, Tensor(DType::u8, {rows, 20})}, {flat}});
    }
  }
}

/// Element `index` of the result of a transpose of three axes, by its definition.
template <class T>
void expect_transposed(const Tensor& x, const Tensor& out, const std::vector<int64_t>& perm) {
  const Dims &from = x.dims(), &to = out.dims();
  for (int64_t i = 0; i < out.size(); ++i) {
    const int64_t place[3] = {i / (to[1] * to[2]), i / to[2] % to[1], i % to[2]};
    int64_t source[3];
    for (size_t axis = 0; axis < 3; ++axis) source[perm[axis]] = place[axis];
    ASSERT_EQ(out.data<T>()[i], x.data<T>()[(source[0] * from[1] + source[1]) * from[2] + source[2]]);
  }
}

TEST(Transpose, PutsAxisPermIAtI) {
  for (const std::vector<int64_t>& perm :
       std::vector<std::vector<int64_t>>{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}, {0, 2, 1}}) {
    for (const DType dtype : kTypes) {
      const Tensor x = bytes_tensor(dtype, {3, 4, 5});
      const Dims dims = {x.dims()[perm[0]], x.dims()[perm[1]], x.dims()[perm[2]]};
      const KernelCase use{"transpose", {{"perm", perm}}, {x}, {Type{dtype, dims}}};
      const Tensor out = run_kernel(reference_transpose, use, CpuLevel::scalar)[0];
      switch (size_of(dtype)) {
        case 1: expect_transposed<uint8_t>(x, out, perm); break;
        case 2: expect_transposed<uint16_t>(x, out, perm); break;
        case 4: expect_transposed<int32_t>(x, out, perm); break;
        default: expect_transposed<int64_t>(x, out, perm);
      }
      const KernelCase back{"transpose_back", {{"perm", perm}}, {out}, {Type{dtype, x.dims()}}};
      EXPECT_TRUE(same_bits(x, run_kernel(reference_transpose_back, back, CpuLevel::scalar)[0]));
    }
  }
}

TEST(Transpose, TakesScalarsAndEmptyTensors) {
  const Tensor scalar = bytes_tensor(DType::f32, {});
  EXPECT_TRUE(same_bits(scalar, run_kernel(reference_transpose,
                                           {"transpose", {{"perm", std::vector<int64_t>{}}}, {scalar}, {scalar.type()}},
                                           CpuLevel::scalar)[0]));
  const KernelCase empty{
      "transpose", {{"perm", std::vector<int64_t>{1, 0}}}, {Tensor(DType::f32, {0, 3})}, {Type{DType::f32, {3, 0}}}};
  EXPECT_EQ(run_kernel(reference_transpose, empty, CpuLevel::scalar)[0].size(), 0);
}

TEST(Concat, JoinsAlongEveryAxisAndItsGradientTakesApart) {
  for (const DType dtype : kTypes) {
    for (int64_t axis = -3; axis < 3; ++axis) {
      std::vector<Tensor> values;
      Dims dims = {7, 40, 300};
      const size_t at = static_cast<size_t>(axis < 0 ? axis + 3 : axis);
      dims[at] = 0;
      for (const int64_t extent : {3, 0, 1, 5}) {
        Dims part = dims;
        part[at] = extent;
        Tensor value(dtype, part);
        for (size_t i = 0; i < value.bytes(); ++i) value.raw()[i] = static_cast<std::byte>(i * 37 + values.size() * 11);
        values.push_back(value);
      }
      dims[at] = 9;
      const KernelCase use{"concat", {{"axis", axis}}, values, {Type{dtype, dims}}};
      const Tensor joined = run_kernel(reference_concat, use, CpuLevel::scalar)[0];
      EXPECT_TRUE(same_bits(joined, run_every_way(cpu_concat_copy, use, CpuLevel::scalar)[0]));
      for (size_t i = 0; i < values.size(); ++i) {
        std::vector<Tensor> operands = {joined};
        for (const Tensor& value : values) operands.emplace_back(DType::u8, value.dims());
        const KernelCase apart{
            "concat_grad", {{"axis", axis}, {"index", static_cast<int64_t>(i)}}, operands, {values[i].type()}};
        EXPECT_TRUE(same_bits(values[i], run_kernel(reference_concat_grad, apart, CpuLevel::scalar)[0]))
            << "axis " << axis << ", value " << i;
      }
    }
  }
}

TEST(Concat, PutsTheSecondValueBehindTheFirst) {
  const KernelCase use{"concat",
                       {{"axis", int64_t{1}}},
                       {f32_values({2, 1}, {1, 2}), f32_values({2, 2}, {3, 4, 5, 6})},
                       {Type{DType::f32, {2, 3}}}};
  EXPECT_TRUE(
      same_bits(f32_values({2, 3}, {1, 3, 4, 2, 5, 6}), run_kernel(reference_concat, use, CpuLevel::scalar)[0]));
}

TEST(Transfer, Copies) {
  const Tensor x = bytes_tensor(DType::i32, {2, 3});
  EXPECT_TRUE(same_bits(x, run_kernel(reference_transfer, {"transfer", {{"to", std::string("cpu")}}, {x}, {x.type()}},
                                      CpuLevel::scalar)[0]));
}

}  // namespace
}  // namespace halfstep::kernels
