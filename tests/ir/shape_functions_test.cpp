#include "halfstep/core/ir/shapes/shape_functions.h"

#include "tests/ir/ir_test.h"

namespace halfstep::shapes {
namespace {

const OpInfo& toy() {
  static const OpInfo info = [] {
    OpInfo made;
    made.name = "toy";
    return made;
  }();
  return info;
}

/// A site for messages alone.
const OpSite& site() {
  static const Attributes attributes;
  static const OpSite made{"net.ir:3: node 'n'", toy(), {}, attributes};
  return made;
}

const std::string kWhere = "net.ir:3: node 'n': toy dims: ";

TEST(Shapes, Broadcast) {
  EXPECT_EQ(broadcast(site(), {4, 1, 7}, {3, 1}), (Dims{4, 3, 7}));
  EXPECT_EQ(broadcast(site(), {}, {5}), (Dims{5}));
  EXPECT_EQ(broadcast(site(), {0, 4}, {1}), (Dims{0, 4}));
  EXPECT_EQ(broadcast(site(), {kUnknown, 4}, {3, 1}), (Dims{3, 4}));
  EXPECT_EQ(broadcast(site(), {kUnknown}, {1}), (Dims{kUnknown}));
  EXPECT_EQ(error_of([] { broadcast(site(), {2, 3}, {4}); }), kWhere + "[2, 3] and [4] do not broadcast");
}

TEST(Shapes, Matmul) {
  EXPECT_EQ(matmul(site(), {37, 64}, {64, 10}, false, false), (Dims{37, 10}));
  EXPECT_EQ(matmul(site(), {64, 37}, {10, 64}, true, true), (Dims{37, 10}));
  EXPECT_EQ(matmul(site(), {kUnknown, 7, 5}, {3, 9, 5}, false, true), (Dims{3, 7, 9}));
  EXPECT_EQ(error_of([] {
              matmul(site(), {2, 3}, {2, 3}, true, true);
            }),
            kWhere + "[2, 3] (transposed) and [2, 3] (transposed) do not multiply");
  EXPECT_EQ(error_of([] {
              matmul(site(), {2, 3, 4}, {5, 4, 1}, false, false);
            }),
            kWhere + "[2, 3, 4] and [5, 4, 1] do not multiply");
  EXPECT_EQ(error_of([] { matmul(site(), {3}, {3}, false, false); }),
            kWhere + "found [3] and [3], expected as many dims, two or more");
}

TEST(Shapes, Reduce) {
  EXPECT_EQ(reduce(site(), {4, 3, 5}, {0, -1}, false), (Dims{3}));
  EXPECT_EQ(reduce(site(), {4, 3, 5}, {1}, true), (Dims{4, 1, 5}));
  EXPECT_EQ(reduce(site(), {4, 3}, {}, false), (Dims{}));
  EXPECT_EQ(error_of([] { reduce(site(), {4, 3}, {1, -1}, false); }), kWhere + "axis -1 is given twice");
  EXPECT_EQ(error_of([] { reduce(site(), {4, 3}, {2}, false); }), kWhere + "there is no axis 2 among 2 dims");
}

TEST(Shapes, Reshape) {
  EXPECT_EQ(reshape(site(), {2, 3, 4}, {0, -1}), (Dims{2, 12}));
  EXPECT_EQ(reshape(site(), {2, 3, 4}, {6, 4}), (Dims{6, 4}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6}, {-1, 3}), (Dims{kUnknown, 3}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6}, {0, 2, 3}), (Dims{kUnknown, 2, 3}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6, 2}, {0, 0, 1, -1}), (Dims{kUnknown, 6, 1, 2}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6, kUnknown}, {0, 0, 1, -1}), (Dims{kUnknown, 6, 1, kUnknown}));
  EXPECT_EQ(error_of([] { reshape(site(), {kUnknown, 3}, {0, 4}); }), kWhere + "3 elements do not fill [?, 4]");
  EXPECT_EQ(error_of([] { reshape(site(), {2, 3}, {4, -1}); }), kWhere + "[2, 3] does not fill [4, ?]");
  EXPECT_EQ(error_of([] { reshape(site(), {2, 3}, {7}); }), kWhere + "6 elements do not fill [7]");
  EXPECT_EQ(error_of([] { reshape(site(), {2}, {-1, -1}); }), kWhere + "[?, ?] has more than one -1");
  EXPECT_EQ(error_of([] { reshape(site(), {2}, {2, 0}); }), kWhere + "there is no axis 1 in [2] to keep");
  EXPECT_EQ(error_of([] { reshape(site(), {2}, {-3}); }), kWhere + "dim 0 is -3, expected an extent, 0 or -1");
}

TEST(Shapes, FlattenAndPermute) {
  EXPECT_EQ(flatten(site(), {2, 3, 4}, 1), (Dims{2, 12}));
  EXPECT_EQ(flatten(site(), {2, 3, 4}, 0), (Dims{1, 24}));
  EXPECT_EQ(flatten(site(), {kUnknown, 3}, 1), (Dims{kUnknown, 3}));
  EXPECT_EQ(permute(site(), {2, 3, 4}, {2, 0, 1}), (Dims{4, 2, 3}));
  EXPECT_EQ(permute_back(site(), permute(site(), {2, 3, 4}, {2, 0, 1}), {2, 0, 1}), (Dims{2, 3, 4}));
  EXPECT_EQ(error_of([] { flatten(site(), {2}, 2); }), kWhere + "axis 2 is not among 1 dims");
  EXPECT_EQ(error_of([] { permute(site(), {2, 3}, {0, 0}); }), kWhere + "perm [0, 0] is no permutation of 2 axes");
}

TEST(Shapes, ConcatAndElement) {
  const Type a{DType::f32, {2, 3, 4}}, b{DType::f32, {2, 1, 4}}, c{DType::f32, {kUnknown, kUnknown, 4}};
  const Type odd{DType::f32, {2, 1, 5}};
  const std::vector<const Type*> all = {&a, &b}, open = {&a, &c}, bad = {&a, &odd};
  EXPECT_EQ(concat(site(), all, 1), (Dims{2, 4, 4}));
  EXPECT_EQ(concat(site(), all, -2), (Dims{2, 4, 4}));
  EXPECT_EQ(concat(site(), open, 1), (Dims{2, kUnknown, 4}));
  EXPECT_EQ(element(site(), all, 1), b.dims);
  EXPECT_EQ(error_of([&] { concat(site(), bad, 1); }), kWhere + "dim 2 of [2, 1, 5] is 5, expected 4");
  EXPECT_EQ(error_of([&] { element(site(), all, 2); }), kWhere + "there is no value 2 among 2");
  EXPECT_EQ(error_of([] { concat(site(), {}, 0); }), kWhere + "there is no value to start with");
}

TEST(Shapes, ScaledByChannel) {
  const Type three{DType::f32, {3}}, one{DType::f32, {1}}, square{DType::f32, {3, 1}}, open{DType::f32, {kUnknown}};
  const auto dims = [](std::vector<const Type*> scales, std::vector<int64_t> bits, int64_t axis, int64_t second_axis) {
    return scaled_by_channel(site(), {2, 3, 5}, scales, bits, axis, second_axis);
  };
  EXPECT_EQ(dims({&three}, {8}, 1, 9), (Dims{2, 3, 5}));
  EXPECT_EQ(dims({&open, &one}, {8, 4}, 9, 2), (Dims{2, 3, 5}));
  EXPECT_EQ(error_of([&] { dims({}, {}, 0, 1); }), kWhere + "found 0 scales, expected one or two");
  EXPECT_EQ(error_of([&] {
              dims({&three}, {8, 8}, 1, 1);
            }),
            kWhere + "found 2 numbers of bits for 1 tensors of scales");
  EXPECT_EQ(error_of([&] { dims({&three}, {17}, 1, 1); }), kWhere + "found 17 bits, expected 1 to 16");
  EXPECT_EQ(error_of([&] { dims({&three, &one}, {8, 8}, 0, 3); }), kWhere + "there is no axis 3 among 3 dims");
  EXPECT_EQ(error_of([&] { dims({&three}, {8}, 0, 1); }),
            kWhere + "found scales [3], expected one for each of the 2 channels of axis 0");
  EXPECT_EQ(error_of([&] { dims({&square}, {8}, 1, 1); }),
            kWhere + "found scales [3, 1], expected one for each of the 3 channels of axis 1");
  EXPECT_EQ(error_of([&] {
              dims({&three, &three}, {8, 8}, 0, 1);
            }),
            kWhere + "found second scales [3], expected a single one");
}

TEST(Shapes, Scaled) {
  const Dims x = {4, 10, 3};
  EXPECT_EQ(scaled(site(), x, {}, 7, 0), x);
  EXPECT_EQ(scaled(site(), x, {1}, 1, 4), x);
  EXPECT_EQ(scaled(site(), x, {3}, -1, 0), x);
  EXPECT_EQ(scaled(site(), x, {4, 3, 3}, 1, 4), x);
  EXPECT_EQ(scaled(site(), {4, kUnknown, 3}, {4, 3, 3}, 1, 4), (Dims{4, kUnknown, 3}));
  EXPECT_EQ(
      error_of([&] {
        scaled(site(), x, {4, 2, 3}, 1, 4);
      }),
      kWhere +
          "the scale of [4, 10, 3] has dims [4, 2, 3], expected one element or [4, 3, 3] for axis 1 in blocks of 4");
  EXPECT_EQ(error_of([&] { scaled(site(), x, {4}, 1, 0); }),
            kWhere + "the scale of [4, 10, 3] has dims [4], expected one element or [10] for axis 1");
  EXPECT_EQ(error_of([&] { scaled(site(), x, {4}, 3, 0); }), kWhere + "there is no axis 3 among 3 dims");
}

TEST(Shapes, BroadcastMatmul) {
  EXPECT_EQ(broadcast_matmul(site(), {5, 9}, {9, 7}), (Dims{5, 7}));
  EXPECT_EQ(broadcast_matmul(site(), {2, 1, 5, 9}, {4, 9, 7}), (Dims{2, 4, 5, 7}));
  EXPECT_EQ(broadcast_matmul(site(), {9}, {4, 9, 7}), (Dims{4, 7}));
  EXPECT_EQ(broadcast_matmul(site(), {2, 5, 9}, {9}), (Dims{2, 5}));
  EXPECT_EQ(broadcast_matmul(site(), {9}, {9}), (Dims{}));
  EXPECT_EQ(broadcast_matmul(site(), {3, 0}, {0, kUnknown}), (Dims{3, kUnknown}));
  EXPECT_EQ(error_of([] { broadcast_matmul(site(), {5, 9}, {8, 7}); }), kWhere + "[5, 9] and [8, 7] do not multiply");
  EXPECT_EQ(error_of([] { broadcast_matmul(site(), {2, 5, 9}, {3, 9, 7}); }), kWhere + "[2] and [3] do not broadcast");
}

TEST(Shapes, Convolution) {
  EXPECT_EQ(convolution(site(), {2, 3, 9, 7}, {4, 3, 3, 3}, {}, {}, {1, 0, 2, 1}, "notset"), (Dims{2, 4, 10, 6}));
  EXPECT_EQ(convolution(site(), {2, 3, 9}, {4, 3, 2}, {2}, {3}, {}, "notset"), (Dims{2, 4, 3}));
  EXPECT_EQ(convolution(site(), {2, 3, 9}, {4, 3, 2}, {2}, {3}, {}, "same_lower"), (Dims{2, 4, 5}));
  EXPECT_EQ(convolution(site(), {2, 3, kUnknown}, {4, 3, 2}, {2}, {}, {}, "valid"), (Dims{2, 4, kUnknown}));
  EXPECT_EQ(error_of([] {
              convolution(site(), {2, 3, 9}, {4, 3, 11}, {}, {}, {}, "notset");
            }),
            kWhere + "axis 2 of [2, 3, 9] with its padding is shorter than the kernel [4, 3, 11]");
  EXPECT_EQ(error_of([] {
              convolution(site(), {2, 3, 9}, {4, 3, 0}, {}, {}, {}, "same_upper");
            }),
            kWhere + "axis 2 of [2, 3, 9] with its padding is shorter than the kernel [4, 3, 0]");
}

TEST(Shapes, ConcatQuantized) {
  const Type scale = {DType::f32, {}}, zero_point = {DType::u8, {}};
  const Type a = {DType::u8, {2, 3}}, b = {DType::u8, {2, 4}};
  const std::vector<const Type*> in = {&scale, &zero_point, &a, &scale, &zero_point, &b, &scale, &zero_point};
  const Attributes attributes;
  const OpSite joined{site().where, toy(), in, attributes};
  const std::span<const Type* const> x = std::span(in).subspan(2);
  EXPECT_EQ(concat_quantized(joined, x, -1), (Dims{2, 7}));
  EXPECT_EQ(error_of([&] { concat_quantized(joined, x.first(4), 1); }),
            kWhere + "found 4 values, expected triples of codes, scale and zero point");
  EXPECT_EQ(error_of([&] { concat_quantized(joined, std::span(in).first(3), 1); }),
            kWhere + "value 0 is f32[], expected u8");
  EXPECT_EQ(error_of([&] {
              const std::vector<const Type*> wrong = {&a, &scale, &b};
              concat_quantized(joined, wrong, 1);
            }),
            kWhere + "value 2 is u8[2, 4], expected one element");
}

TEST(Shapes, GlobalPool) {
  EXPECT_EQ(global_pool(site(), {2, 5, 7, 6}, false), (Dims{2, 5, 1, 1}));
  EXPECT_EQ(global_pool(site(), {2, 7, 6, 5}, true), (Dims{2, 1, 1, 5}));
}

TEST(Shapes, SqueezeAndUnsqueeze) {
  EXPECT_EQ(squeeze(site(), {2, 1, 3, 1}, {1, -1}), (Dims{2, 3}));
  EXPECT_EQ(squeeze(site(), {1, 5, 1}, {}), (Dims{5}));
  EXPECT_EQ(error_of([] { squeeze(site(), {2, 3}, {0}); }), kWhere + "axis 0 of [2, 3] is not 1");
  EXPECT_EQ(error_of([] {
              squeeze(site(), {kUnknown, 3}, {});
            }),
            kWhere + "whether axis 0 of [?, 3] is 1 is not known");
  EXPECT_EQ(unsqueeze(site(), {2, 3}, {1, -1}), (Dims{2, 1, 3, 1}));
  EXPECT_EQ(unsqueeze(site(), {}, {0}), (Dims{1}));
  EXPECT_EQ(error_of([] { unsqueeze(site(), {2}, {0, -3}); }), kWhere + "axis 0 is given twice");
}

TEST(Shapes, Slice) {
  EXPECT_EQ(slice(site(), {20, 10, 5}, {0, -3}, {3, 1000}, {}, {}), (Dims{3, 3, 5}));
  EXPECT_EQ(slice(site(), {20, 10, 5}, {20, 10, 4}, {0, 0, 1}, {}, {-1, -3, -2}), (Dims{19, 3, 2}));
  EXPECT_EQ(slice(site(), {4}, {-1}, {INT64_MIN}, {0}, {-1}), (Dims{4}));
  EXPECT_EQ(slice(site(), {4}, {0}, {INT64_MAX}, {0}, {INT64_MAX}), (Dims{1}));
  EXPECT_EQ(slice(site(), {4}, {3}, {INT64_MIN}, {0}, {INT64_MIN}), (Dims{1}));
  EXPECT_EQ(slice(site(), {4}, {3}, {1}, {0}, {}), (Dims{0}));
  EXPECT_EQ(slice(site(), {kUnknown, 4}, {0}, {2}, {0}, {}), (Dims{kUnknown, 4}));
  EXPECT_EQ(error_of([] { slice(site(), {4}, {0}, {2}, {0}, {0}); }), kWhere + "step 0 is 0");
  EXPECT_EQ(error_of([] { slice(site(), {4}, {0, 1}, {2, 2}, {}, {}); }), kWhere + "found 2 starts for 1 dims");
}

TEST(Shapes, PadAndTile) {
  EXPECT_EQ(pad(site(), {2, 3}, {1, 0, 2, -1}, {}), (Dims{5, 2}));
  EXPECT_EQ(pad(site(), {2, kUnknown}, {1, 2}, {-2}), (Dims{5, kUnknown}));
  EXPECT_EQ(error_of([] { pad(site(), {2}, {-3, 0}, {}); }), kWhere + "axis 0 of [2] would have less than nothing");
  EXPECT_EQ(error_of([] { pad(site(), {2}, {1}, {}); }), kWhere + "found 1 pads, expected 2");
  EXPECT_EQ(tile(site(), {2, kUnknown}, {3, 2}), (Dims{6, kUnknown}));
}

TEST(Shapes, GatherAndScatter) {
  EXPECT_EQ(gather(site(), {5, 4, 3}, {2, 6}, 1), (Dims{5, 2, 6, 3}));
  EXPECT_EQ(gather(site(), {5}, {}, -1), (Dims{}));
  EXPECT_EQ(gather_nd(site(), {3, 4, 5}, {3, 7, 1}, 1), (Dims{3, 7, 5}));
  EXPECT_EQ(gather_nd(site(), {3, 4, 5}, {2, 3}, 0), (Dims{2}));
  EXPECT_EQ(error_of([] {
              gather_nd(site(), {3, 4}, {2, 3}, 0);
            }),
            kWhere + "positions of 3 axes do not fit [3, 4] after 0 of batch");
  EXPECT_EQ(one_hot(site(), {2, 3}, 5, 0), (Dims{5, 2, 3}));
}

TEST(Shapes, Pool) {
  EXPECT_EQ(pool(site(), {2, 3, 9, 8}, {3, 3}, {2, 2}, {}, {}, "notset", false), (Dims{2, 3, 4, 3}));
  EXPECT_EQ(pool(site(), {2, 3, 9, 8}, {3, 3}, {2, 2}, {}, {}, "notset", true), (Dims{2, 3, 4, 4}));
  // The last window would start in the padding behind.
  EXPECT_EQ(pool(site(), {1, 1, 2}, {1}, {2}, {}, {0, 2}, "notset", true), (Dims{1, 1, 2}));
  EXPECT_EQ(pool(site(), {1, 1, kUnknown}, {3}, {2}, {}, {}, "notset", true), (Dims{1, 1, kUnknown}));
  EXPECT_EQ(pool(site(), {1, 1, 11}, {4}, {3}, {}, {}, "same_upper", false), (Dims{1, 1, 4}));
  EXPECT_EQ(error_of([] {
              pool(site(), {1, 1, 2}, {3}, {}, {}, {}, "notset", false);
            }),
            kWhere + "axis 2 of [1, 1, 2] with its padding is shorter than the kernel");
}

TEST(Shapes, ConvolutionTranspose) {
  EXPECT_EQ(
      convolution_transpose(site(), {1, 6, 5, 7}, {6, 2, 3, 3}, 2, {2, 2}, {}, {1, 0, 2, 1}, {1, 1}, {}, "notset"),
      (Dims{1, 4, 9, 15}));
  EXPECT_EQ(convolution_transpose(site(), {1, 1, 3}, {1, 1, 3}, 1, {3}, {}, {}, {}, {10}, "notset"), (Dims{1, 1, 10}));
  EXPECT_EQ(convolution_transpose(site(), {1, 1, 3}, {1, 1, 3}, 1, {3}, {}, {}, {}, {}, "same_lower"), (Dims{1, 1, 9}));
}

TEST(Shapes, Einsum) {
  const Type a{DType::f32, {2, 3}}, b{DType::f32, {3, 4}}, c{DType::f32, {5, 1, 3}};
  const std::vector<const Type*> product = {&a, &b}, batch = {&c, &b}, one = {&a};
  EXPECT_EQ(einsum(site(), product, "ij, jk -> ik"), (Dims{2, 4}));
  EXPECT_EQ(einsum(site(), product, "ij,jk"), (Dims{2, 4}));
  EXPECT_EQ(einsum(site(), batch, "...j,jk->...k"), (Dims{5, 1, 4}));
  EXPECT_EQ(einsum(site(), one, "ij->"), (Dims{}));
  EXPECT_EQ(error_of([&] { einsum(site(), product, "ij,ik->j"); }), kWhere + "'i' is 2 and 3");
  EXPECT_EQ(error_of([&] { einsum(site(), one, "ij,jk->ik"); }), kWhere + "the equation has 2 terms for 1 values");
  EXPECT_EQ(error_of([&] { einsum(site(), one, "i->i"); }), kWhere + "the term 'i' does not fit [2, 3]");
  EXPECT_EQ(error_of([&] { einsum(site(), one, "ij->k"); }), kWhere + "'k' of the result stands in no term");
}

TEST(Shapes, Resize) {
  EXPECT_EQ(resize(site(), {1, 2, 4, 5}, {}, {1.0, 1.0, 2.0, 1.6}, {}, "stretch"), (Dims{1, 2, 8, 8}));
  EXPECT_EQ(resize(site(), {1, 2, 4, 5}, {7, 3}, {}, {2, 3}, "stretch"), (Dims{1, 2, 7, 3}));
  EXPECT_EQ(resize(site(), {4, 5}, {7, 8}, {}, {}, "not_larger"), (Dims{6, 8}));
  EXPECT_EQ(resize(site(), {4, 5}, {7, 8}, {}, {}, "not_smaller"), (Dims{7, 9}));
  EXPECT_EQ(error_of([] {
              resize(site(), {4, 5}, {7}, {}, {}, "stretch");
            }),
            kWhere + "found 1 sizes and 0 scales, expected 2 of one of them");
}

}  // namespace
}  // namespace halfstep::shapes
