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

/// A site that only serves messages.
const OpSite& site() {
  static const Attributes attributes;
  static const OpSite made{"net.ir:3: node 'n'", toy(), {}, attributes};
  return made;
}

/// The error of an entry whose first arguments are the place and the operator.
template <class Entry, class... Values>
Diagnostic here(Entry entry, const Values&... values) {
  return entry(site().where, "toy", values...);
}

TEST(Shapes, Broadcast) {
  EXPECT_EQ(broadcast(site(), {4, 1, 7}, {3, 1}), (Dims{4, 3, 7}));
  EXPECT_EQ(broadcast(site(), {}, {5}), (Dims{5}));
  EXPECT_EQ(broadcast(site(), {0, 4}, {1}), (Dims{0, 4}));
  EXPECT_EQ(broadcast(site(), {kUnknown, 4}, {3, 1}), (Dims{3, 4}));
  EXPECT_EQ(broadcast(site(), {kUnknown}, {1}), (Dims{kUnknown}));
  EXPECT_EQ(diagnostic_of([] { broadcast(site(), {2, 3}, {4}); }), here(errors::no_broadcast, "[2, 3]", "[4]"));
}

TEST(Shapes, Matmul) {
  EXPECT_EQ(matmul(site(), {37, 64}, {64, 10}, false, false), (Dims{37, 10}));
  EXPECT_EQ(matmul(site(), {64, 37}, {10, 64}, true, true), (Dims{37, 10}));
  EXPECT_EQ(matmul(site(), {kUnknown, 7, 5}, {3, 9, 5}, false, true), (Dims{3, 7, 9}));
  EXPECT_EQ(diagnostic_of([] {
              matmul(site(), {2, 3}, {2, 3}, true, true);
            }),
            here(errors::no_product, "[2, 3] (transposed)", "[2, 3] (transposed)"));
  EXPECT_EQ(diagnostic_of([] {
              matmul(site(), {2, 3, 4}, {5, 4, 1}, false, false);
            }),
            here(errors::no_product, "[2, 3, 4]", "[5, 4, 1]"));
  EXPECT_EQ(diagnostic_of([] { matmul(site(), {3}, {3}, false, false); }),
            here(errors::operand_ranks, "[3] and [3]", "as many dims, two or more"));
}

TEST(Shapes, Reduce) {
  EXPECT_EQ(reduce(site(), {4, 3, 5}, {0, -1}, false), (Dims{3}));
  EXPECT_EQ(reduce(site(), {4, 3, 5}, {1}, true), (Dims{4, 1, 5}));
  EXPECT_EQ(reduce(site(), {4, 3}, {}, false), (Dims{}));
  EXPECT_EQ(diagnostic_of([] { reduce(site(), {4, 3}, {1, -1}, false); }), here(errors::axis_twice, -1));
  EXPECT_EQ(diagnostic_of([] { reduce(site(), {4, 3}, {2}, false); }), here(errors::axis_missing, 2, 2));
}

TEST(Shapes, Reshape) {
  EXPECT_EQ(reshape(site(), {2, 3, 4}, {0, -1}), (Dims{2, 12}));
  EXPECT_EQ(reshape(site(), {2, 3, 4}, {6, 4}), (Dims{6, 4}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6}, {-1, 3}), (Dims{kUnknown, 3}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6}, {0, 2, 3}), (Dims{kUnknown, 2, 3}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6, 2}, {0, 0, 1, -1}), (Dims{kUnknown, 6, 1, 2}));
  EXPECT_EQ(reshape(site(), {kUnknown, 6, kUnknown}, {0, 0, 1, -1}), (Dims{kUnknown, 6, 1, kUnknown}));
  EXPECT_EQ(diagnostic_of([] {
              reshape(site(), {kUnknown, 3}, {0, 4});
            }),
            here(errors::reshape_size, "3 elements", "[?, 4]"));
  EXPECT_EQ(diagnostic_of([] { reshape(site(), {2, 3}, {4, -1}); }), here(errors::reshape_size, "[2, 3]", "[4, ?]"));
  EXPECT_EQ(diagnostic_of([] { reshape(site(), {2, 3}, {7}); }), here(errors::reshape_size, "6 elements", "[7]"));
  EXPECT_EQ(diagnostic_of([] {
              reshape(site(), {2}, {-1, -1});
            }),
            here(errors::reshape_dims, "more than one -1", "at most one"));
  EXPECT_EQ(diagnostic_of([] { reshape(site(), {2}, {2, 0}); }), here(errors::axis_missing, 1, 1));
  EXPECT_EQ(diagnostic_of([] { reshape(site(), {2}, {-3}); }),
            here(errors::reshape_dims, "-3 for dim 0", "an extent, 0 or -1"));
}

TEST(Shapes, FlattenAndPermute) {
  EXPECT_EQ(flatten(site(), {2, 3, 4}, 1), (Dims{2, 12}));
  EXPECT_EQ(flatten(site(), {2, 3, 4}, 0), (Dims{1, 24}));
  EXPECT_EQ(flatten(site(), {kUnknown, 3}, 1), (Dims{kUnknown, 3}));
  EXPECT_EQ(permute(site(), {2, 3, 4}, {2, 0, 1}), (Dims{4, 2, 3}));
  EXPECT_EQ(permute_back(site(), permute(site(), {2, 3, 4}, {2, 0, 1}), {2, 0, 1}), (Dims{2, 3, 4}));
  EXPECT_EQ(diagnostic_of([] { flatten(site(), {2}, 2); }), here(errors::axis_missing, 2, 1));
  EXPECT_EQ(diagnostic_of([] { permute(site(), {2, 3}, {0, 0}); }), here(errors::permutation_wrong, "[0, 0]", 2));
}

TEST(Shapes, ConcatAndElement) {
  const Type a{DType::f32, {2, 3, 4}}, b{DType::f32, {2, 1, 4}}, c{DType::f32, {kUnknown, kUnknown, 4}};
  const Type odd{DType::f32, {2, 1, 5}};
  const std::vector<const Type*> all = {&a, &b}, open = {&a, &c}, bad = {&a, &odd};
  EXPECT_EQ(concat(site(), all, 1), (Dims{2, 4, 4}));
  EXPECT_EQ(concat(site(), all, -2), (Dims{2, 4, 4}));
  EXPECT_EQ(concat(site(), open, 1), (Dims{2, kUnknown, 4}));
  EXPECT_EQ(element(site(), all, 1), b.dims);
  EXPECT_EQ(diagnostic_of([&] { concat(site(), bad, 1); }), here(errors::operands_differ, 2, "[2, 1, 5]", 5, 4));
  EXPECT_EQ(diagnostic_of([&] { element(site(), all, 2); }), here(errors::values_count, "value 2", "one of 2"));
  EXPECT_EQ(diagnostic_of([] { concat(site(), {}, 0); }), here(errors::values_count, "no value", "one or more"));
}

TEST(Shapes, ScaledByChannel) {
  const Type three{DType::f32, {3}}, one{DType::f32, {1}}, square{DType::f32, {3, 1}}, open{DType::f32, {kUnknown}};
  const auto dims = [](std::vector<const Type*> scales, std::vector<int64_t> bits, int64_t axis, int64_t second_axis) {
    return scaled_by_channel(site(), {2, 3, 5}, scales, bits, axis, second_axis);
  };
  EXPECT_EQ(dims({&three}, {8}, 1, 9), (Dims{2, 3, 5}));
  EXPECT_EQ(dims({&open, &one}, {8, 4}, 9, 2), (Dims{2, 3, 5}));
  EXPECT_EQ(diagnostic_of([&] { dims({}, {}, 0, 1); }), here(errors::values_count, "0 scales", "one or two"));
  EXPECT_EQ(diagnostic_of([&] {
              dims({&three}, {8, 8}, 1, 1);
            }),
            here(errors::attributes_unfit, "2 numbers of bits", "1, one for each scale"));
  EXPECT_EQ(diagnostic_of([&] { dims({&three}, {17}, 1, 1); }),
            here(errors::attribute_out_of_range, "bits", 17, "1 to 16"));
  EXPECT_EQ(diagnostic_of([&] { dims({&three, &one}, {8, 8}, 0, 3); }), here(errors::axis_missing, 3, 3));
  EXPECT_EQ(diagnostic_of([&] { dims({&three}, {8}, 0, 1); }),
            here(errors::scale_dims, "the scale", "[3]", "one for each of the 2 channels of axis 0"));
  EXPECT_EQ(diagnostic_of([&] { dims({&square}, {8}, 1, 1); }),
            here(errors::scale_dims, "the scale", "[3, 1]", "one for each of the 3 channels of axis 1"));
  EXPECT_EQ(diagnostic_of([&] {
              dims({&three, &three}, {8, 8}, 0, 1);
            }),
            here(errors::scale_dims, "the second scale", "[3]", "one element"));
}

TEST(Shapes, Scaled) {
  const Dims x = {4, 10, 3};
  EXPECT_EQ(scaled(site(), x, {}, 7, 0), x);
  EXPECT_EQ(scaled(site(), x, {1}, 1, 4), x);
  EXPECT_EQ(scaled(site(), x, {3}, -1, 0), x);
  EXPECT_EQ(scaled(site(), x, {4, 3, 3}, 1, 4), x);
  EXPECT_EQ(scaled(site(), {4, kUnknown, 3}, {4, 3, 3}, 1, 4), (Dims{4, kUnknown, 3}));
  EXPECT_EQ(diagnostic_of([&] {
              scaled(site(), x, {4, 2, 3}, 1, 4);
            }),
            here(errors::scale_dims, "the scale of [4, 10, 3]", "[4, 2, 3]",
                 "one element or [4, 3, 3] for axis 1 in blocks of 4"));
  EXPECT_EQ(diagnostic_of([&] { scaled(site(), x, {4}, 1, 0); }),
            here(errors::scale_dims, "the scale of [4, 10, 3]", "[4]", "one element or [10] for axis 1"));
  EXPECT_EQ(diagnostic_of([&] { scaled(site(), x, {4}, 3, 0); }), here(errors::axis_missing, 3, 3));
}

TEST(Shapes, BroadcastMatmul) {
  EXPECT_EQ(broadcast_matmul(site(), {5, 9}, {9, 7}), (Dims{5, 7}));
  EXPECT_EQ(broadcast_matmul(site(), {2, 1, 5, 9}, {4, 9, 7}), (Dims{2, 4, 5, 7}));
  EXPECT_EQ(broadcast_matmul(site(), {9}, {4, 9, 7}), (Dims{4, 7}));
  EXPECT_EQ(broadcast_matmul(site(), {2, 5, 9}, {9}), (Dims{2, 5}));
  EXPECT_EQ(broadcast_matmul(site(), {9}, {9}), (Dims{}));
  EXPECT_EQ(broadcast_matmul(site(), {3, 0}, {0, kUnknown}), (Dims{3, kUnknown}));
  EXPECT_EQ(diagnostic_of([] {
              broadcast_matmul(site(), {5, 9}, {8, 7});
            }),
            here(errors::no_product, "[5, 9]", "[8, 7]"));
  EXPECT_EQ(diagnostic_of([] {
              broadcast_matmul(site(), {2, 5, 9}, {3, 9, 7});
            }),
            here(errors::no_broadcast, "[2]", "[3]"));
}

TEST(Shapes, Convolution) {
  EXPECT_EQ(convolution(site(), {2, 3, 9, 7}, {4, 3, 3, 3}, {}, {}, {1, 0, 2, 1}, "notset"), (Dims{2, 4, 10, 6}));
  EXPECT_EQ(convolution(site(), {2, 3, 9}, {4, 3, 2}, {2}, {3}, {}, "notset"), (Dims{2, 4, 3}));
  EXPECT_EQ(convolution(site(), {2, 3, 9}, {4, 3, 2}, {2}, {3}, {}, "same_lower"), (Dims{2, 4, 5}));
  EXPECT_EQ(convolution(site(), {2, 3, kUnknown}, {4, 3, 2}, {2}, {}, {}, "valid"), (Dims{2, 4, kUnknown}));
  EXPECT_EQ(diagnostic_of([] {
              convolution(site(), {2, 3, 9}, {4, 3, 11}, {}, {}, {}, "notset");
            }),
            here(errors::kernel_too_large, 2, "[2, 3, 9]", "[4, 3, 11]"));
  EXPECT_EQ(diagnostic_of([] {
              convolution(site(), {2, 3, 9}, {4, 3, 0}, {}, {}, {}, "same_upper");
            }),
            here(errors::kernel_too_large, 2, "[2, 3, 9]", "[4, 3, 0]"));
}

TEST(Shapes, ConcatQuantized) {
  const Type scale = {DType::f32, {}}, zero_point = {DType::u8, {}};
  const Type a = {DType::u8, {2, 3}}, b = {DType::u8, {2, 4}};
  const std::vector<const Type*> in = {&scale, &zero_point, &a, &scale, &zero_point, &b, &scale, &zero_point};
  const Attributes attributes;
  const OpSite joined{site().where, toy(), in, attributes};
  const std::span<const Type* const> x = std::span(in).subspan(2);
  EXPECT_EQ(concat_quantized(joined, x, -1), (Dims{2, 7}));
  EXPECT_EQ(diagnostic_of([&] { concat_quantized(joined, x.first(4), 1); }),
            here(errors::values_count, 4, "triples of codes, scale and zero point"));
  EXPECT_EQ(diagnostic_of([&] { concat_quantized(joined, std::span(in).first(3), 1); }),
            here(errors::operand_dtype, "value 0", "f32[]", "u8"));
  EXPECT_EQ(diagnostic_of([&] {
              const std::vector<const Type*> wrong = {&a, &scale, &b};
              concat_quantized(joined, wrong, 1);
            }),
            here(errors::scale_dims, "value 2", "u8[2, 4]", "one element"));
}

TEST(Shapes, GlobalPool) {
  EXPECT_EQ(global_pool(site(), {2, 5, 7, 6}, false), (Dims{2, 5, 1, 1}));
  EXPECT_EQ(global_pool(site(), {2, 7, 6, 5}, true), (Dims{2, 1, 1, 5}));
}

TEST(Shapes, SqueezeAndUnsqueeze) {
  EXPECT_EQ(squeeze(site(), {2, 1, 3, 1}, {1, -1}), (Dims{2, 3}));
  EXPECT_EQ(squeeze(site(), {1, 5, 1}, {}), (Dims{5}));
  EXPECT_EQ(diagnostic_of([] { squeeze(site(), {2, 3}, {0}); }), here(errors::squeezed_axis, 0, "[2, 3]"));
  EXPECT_EQ(diagnostic_of([] {
              squeeze(site(), {kUnknown, 3}, {});
            }),
            here(errors::extent_needed, 0, "[?, 3]", "a squeeze without axes"));
  EXPECT_EQ(unsqueeze(site(), {2, 3}, {1, -1}), (Dims{2, 1, 3, 1}));
  EXPECT_EQ(unsqueeze(site(), {}, {0}), (Dims{1}));
  EXPECT_EQ(diagnostic_of([] { unsqueeze(site(), {2}, {0, -3}); }), here(errors::axis_twice, 0));
}

TEST(Shapes, Slice) {
  EXPECT_EQ(slice(site(), {20, 10, 5}, {0, -3}, {3, 1000}, {}, {}), (Dims{3, 3, 5}));
  EXPECT_EQ(slice(site(), {20, 10, 5}, {20, 10, 4}, {0, 0, 1}, {}, {-1, -3, -2}), (Dims{19, 3, 2}));
  EXPECT_EQ(slice(site(), {4}, {-1}, {INT64_MIN}, {0}, {-1}), (Dims{4}));
  EXPECT_EQ(slice(site(), {4}, {0}, {INT64_MAX}, {0}, {INT64_MAX}), (Dims{1}));
  EXPECT_EQ(slice(site(), {4}, {3}, {INT64_MIN}, {0}, {INT64_MIN}), (Dims{1}));
  EXPECT_EQ(slice(site(), {4}, {3}, {1}, {0}, {}), (Dims{0}));
  EXPECT_EQ(slice(site(), {kUnknown, 4}, {0}, {2}, {0}, {}), (Dims{kUnknown, 4}));
  EXPECT_EQ(diagnostic_of([] { slice(site(), {4}, {0}, {2}, {0}, {0}); }),
            here(errors::attribute_out_of_range, "step 0", 0, "another number"));
  EXPECT_EQ(diagnostic_of([] {
              slice(site(), {4}, {0, 1}, {2, 2}, {}, {});
            }),
            here(errors::attributes_unfit, "2 starts", "at most 1"));
}

TEST(Shapes, PadAndTile) {
  EXPECT_EQ(pad(site(), {2, 3}, {1, 0, 2, -1}, {}), (Dims{5, 2}));
  EXPECT_EQ(pad(site(), {2, kUnknown}, {1, 2}, {-2}), (Dims{5, kUnknown}));
  EXPECT_EQ(diagnostic_of([] { pad(site(), {2}, {-3, 0}, {}); }), here(errors::output_dims, "the result", 0, -1));
  EXPECT_EQ(diagnostic_of([] { pad(site(), {2}, {1}, {}); }), here(errors::attributes_unfit, "1 pads", 2));
  EXPECT_EQ(tile(site(), {2, kUnknown}, {3, 2}), (Dims{6, kUnknown}));
}

TEST(Shapes, GatherAndScatter) {
  EXPECT_EQ(gather(site(), {5, 4, 3}, {2, 6}, 1), (Dims{5, 2, 6, 3}));
  EXPECT_EQ(gather(site(), {5}, {}, -1), (Dims{}));
  EXPECT_EQ(gather_nd(site(), {3, 4, 5}, {3, 7, 1}, 1), (Dims{3, 7, 5}));
  EXPECT_EQ(gather_nd(site(), {3, 4, 5}, {2, 3}, 0), (Dims{2}));
  EXPECT_EQ(diagnostic_of([] { gather_nd(site(), {3, 4}, {2, 3}, 0); }), here(errors::positions_depth, 3, "[3, 4]", 0));
  EXPECT_EQ(diagnostic_of([] {
              gather_nd(site(), {3, 4}, {2, 3}, 2);
            }),
            here(errors::batch_dims_differ, 2, "[3, 4]", "[2, 3]"));
  EXPECT_EQ(one_hot(site(), {2, 3}, 5, 0), (Dims{5, 2, 3}));
}

TEST(Shapes, Pool) {
  EXPECT_EQ(pool(site(), {2, 3, 9, 8}, {3, 3}, {2, 2}, {}, {}, "notset", false), (Dims{2, 3, 4, 3}));
  EXPECT_EQ(pool(site(), {2, 3, 9, 8}, {3, 3}, {2, 2}, {}, {}, "notset", true), (Dims{2, 3, 4, 4}));
  // The last window would start in the padding behind.
  EXPECT_EQ(pool(site(), {1, 1, 2}, {1}, {2}, {}, {0, 2}, "notset", true), (Dims{1, 1, 2}));
  EXPECT_EQ(pool(site(), {1, 1, kUnknown}, {3}, {2}, {}, {}, "notset", true), (Dims{1, 1, kUnknown}));
  EXPECT_EQ(pool(site(), {1, 1, 11}, {4}, {3}, {}, {}, "same_upper", false), (Dims{1, 1, 4}));
  EXPECT_EQ(diagnostic_of([] {
              pool(site(), {1, 1, 2}, {3}, {}, {}, {}, "notset", false);
            }),
            here(errors::kernel_too_large, 2, "[1, 1, 2]", "[3]"));
}

TEST(Shapes, ConvolutionTranspose) {
  EXPECT_EQ(
      convolution_transpose(site(), {1, 6, 5, 7}, {6, 2, 3, 3}, 2, {2, 2}, {}, {1, 0, 2, 1}, {1, 1}, {}, "notset"),
      (Dims{1, 4, 9, 15}));
  EXPECT_EQ(convolution_transpose(site(), {1, 1, 3}, {1, 1, 3}, 1, {3}, {}, {}, {}, {10}, "notset"), (Dims{1, 1, 10}));
  EXPECT_EQ(convolution_transpose(site(), {1, 1, 3}, {1, 1, 3}, 1, {3}, {}, {}, {}, {}, "same_lower"), (Dims{1, 1, 9}));
  EXPECT_EQ(convolution_transpose(site(), {1, 1, 3}, {1, 1, 3}, 1, {2}, {3}, {}, {2}, {}, "notset"), (Dims{1, 1, 13}));
  EXPECT_EQ(diagnostic_of([] {
              convolution_transpose(site(), {1, 1, 3}, {1, 1, 3}, 1, {2}, {}, {}, {2}, {}, "notset");
            }),
            here(errors::output_padding_too_large, 2, 2, 2));
}

TEST(Shapes, Einsum) {
  const Type a{DType::f32, {2, 3}}, b{DType::f32, {3, 4}}, c{DType::f32, {5, 1, 3}};
  const std::vector<const Type*> product = {&a, &b}, batch = {&c, &b}, one = {&a};
  EXPECT_EQ(einsum(site(), product, "ij, jk -> ik"), (Dims{2, 4}));
  EXPECT_EQ(einsum(site(), product, "ij,jk"), (Dims{2, 4}));
  EXPECT_EQ(einsum(site(), batch, "...j,jk->...k"), (Dims{5, 1, 4}));
  EXPECT_EQ(einsum(site(), one, "ij->"), (Dims{}));
  EXPECT_EQ(diagnostic_of([&] { einsum(site(), product, "ij,ik->j"); }), here(errors::einsum_extents, "i", 2, 3));
  EXPECT_EQ(diagnostic_of([&] { einsum(site(), one, "ij,jk->ik"); }),
            here(errors::einsum_term, "2 terms", "1, one for each input"));
  EXPECT_EQ(diagnostic_of([&] { einsum(site(), one, "i->i"); }),
            here(errors::einsum_term, "the term 'i'", "a letter for each axis of [2, 3]"));
  const Type large{DType::f32, {1 << 20, 1 << 20}};
  const std::vector<const Type*> much = {&large, &large};
  EXPECT_EQ(diagnostic_of([&] { einsum(site(), much, "ij,jk->ik"); }).entry, &errors::too_much_work_entry);
  EXPECT_EQ(diagnostic_of([&] { einsum(site(), one, "ij->k"); }),
            here(errors::einsum_term, "'k' in the result", "a letter of a term"));
}

TEST(Shapes, Blocks) {
  EXPECT_EQ(depth_to_space(site(), {1, 8, 2, 3}, 2), (Dims{1, 2, 4, 6}));
  EXPECT_EQ(diagnostic_of([] {
              depth_to_space(site(), {1, 6, 2, 3}, 2);
            }),
            here(errors::not_a_multiple, "channels", 6, 4));
  EXPECT_EQ(diagnostic_of([] {
              space_to_depth(site(), {1, 2, 4, 5}, 2);
            }),
            here(errors::not_a_multiple, "dim 3 of [1, 2, 4, 5]", 5, 2));
}

TEST(Shapes, Resize) {
  EXPECT_EQ(resize(site(), {1, 2, 4, 5}, {}, {1.0, 1.0, 2.0, 1.6}, {}, "stretch"), (Dims{1, 2, 8, 8}));
  EXPECT_EQ(resize(site(), {1, 2, 4, 5}, {7, 3}, {}, {2, 3}, "stretch"), (Dims{1, 2, 7, 3}));
  EXPECT_EQ(resize(site(), {4, 5}, {7, 8}, {}, {}, "not_larger"), (Dims{6, 8}));
  EXPECT_EQ(resize(site(), {4, 5}, {7, 8}, {}, {}, "not_smaller"), (Dims{7, 9}));
  EXPECT_EQ(diagnostic_of([] {
              resize(site(), {4, 5}, {7}, {}, {}, "stretch");
            }),
            here(errors::attributes_unfit, "1 sizes and 0 scales", "2 of one of them"));
}

}  // namespace
}  // namespace halfstep::shapes
