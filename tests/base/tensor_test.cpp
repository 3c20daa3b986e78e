#include "halfstep/core/base/tensor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "tests/support/error.h"

namespace halfstep {
namespace {

using test::diagnostic_of;
using test::name_of;

Tensor counting(const Dims& dims) {
  Tensor tensor(DType::i32, dims);
  const auto values = tensor.data<int32_t>();
  std::iota(values.begin(), values.end(), 0);
  return tensor;
}

TEST(Tensor, StartsAsAlignedZeros) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const Tensor tensor(static_cast<DType>(i), {3, 5});
    EXPECT_EQ(tensor.size(), 15);
    EXPECT_EQ(tensor.bytes(), 15 * size_of(static_cast<DType>(i)));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % kAlignment, 0U);
    EXPECT_TRUE(
        std::all_of(tensor.raw(), tensor.raw() + tensor.bytes(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(Tensor, StartsAsZerosInMemoryThatWasUsedBefore) {
  constexpr int64_t kSize = kLargeBlock + 5;
  for (int64_t round = 0; round < 100; ++round) {
    Tensor tensor(DType::u8, {kSize + round * 1000});
    const auto bytes = tensor.data<uint8_t>();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % kAlignment, 0U);
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), tensor.size());
    std::memset(tensor.raw(), 7, tensor.bytes());
    const Tensor other = Tensor::uninitialized(DType::u8, {kSize});
    EXPECT_NE(other.raw(), tensor.raw());
  }
}

TEST(Tensor, SharesMemoryWithNoOtherThatIsHeld) {
  const auto run = [](uint8_t seed) {
    std::vector<Tensor> held;
    for (int round = 0; round < 2000; ++round) {
      const int64_t size = 1 + (round * 7919) % 5000;  // small and medium blocks
      Tensor tensor = Tensor::uninitialized(DType::u8, {size});
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.raw()) % kAlignment, 0U);
      std::memset(tensor.raw(), seed + round % 100, tensor.bytes());
      held.push_back(tensor);
      if (held.size() > 20) held.erase(held.begin() + round % 20);
      for (const Tensor& other : held) {
        const auto bytes = other.data<uint8_t>();
        EXPECT_EQ(std::count(bytes.begin(), bytes.end(), bytes[0]), other.size());
      }
    }
  };
  std::jthread other([&] { run(0); });
  run(100);
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  Tensor tensor = counting({4});
  Tensor copy = tensor, clone = tensor.clone();
  copy.data<int32_t>()[0] = 7;
  EXPECT_EQ(tensor.data<int32_t>()[0], 7);
  EXPECT_EQ(clone.data<int32_t>()[0], 0);
}

TEST(Tensor, ReshapedSharesStorage) {
  Tensor tensor = counting({2, 6});
  Tensor view = tensor.reshaped({3, 4});
  EXPECT_EQ(view.dims(), (Dims{3, 4}));
  EXPECT_EQ(view.raw(), tensor.raw());
  EXPECT_EQ(name_of([&] { tensor.reshaped({5}); }), "defect");
}

TEST(Tensor, RowsAreCopied) {
  const Tensor tensor = counting({4, 3});
  const Tensor rows = tensor.rows(1, 3);
  EXPECT_EQ(rows.dims(), (Dims{2, 3}));
  EXPECT_EQ(rows.data<int32_t>()[0], 3);
  EXPECT_EQ(rows.data<int32_t>()[5], 8);
  EXPECT_EQ(tensor.rows(2, 2).dims(), (Dims{0, 3}));
  EXPECT_EQ(Tensor(DType::f32, {0, 3}).rows(0, 0).dims(), (Dims{0, 3}));
  EXPECT_EQ(name_of([&] { tensor.rows(3, 5); }), "defect");
}

TEST(Tensor, SameBitsComparesTypeAndBytes) {
  EXPECT_TRUE(counting({4}).same_bits(counting({4})));
  EXPECT_FALSE(counting({4}).same_bits(counting({2, 2})));
  Tensor zero(DType::f32, {1}), negative_zero(DType::f32, {1});
  negative_zero.data<float>()[0] = -0.0F;
  EXPECT_FALSE(zero.same_bits(negative_zero));
  EXPECT_TRUE(Tensor(DType::f32, {0}).same_bits(Tensor(DType::f32, {0})));
}

TEST(Tensor, DeferredContentsAreMadeWhenTheyAreRead) {
  int made = 0;
  const Tensor tensor = Tensor::deferred({DType::i32, {2, 3}}, [&] {
    ++made;
    return counting({6});
  });
  const Tensor copy = tensor.reshaped({3, 2});
  EXPECT_TRUE(tensor.defined());
  EXPECT_EQ(tensor.bytes(), 24U);
  EXPECT_TRUE(copy.shares_contents(tensor));
  EXPECT_EQ(made, 0);
  EXPECT_FALSE(tensor.is_in_memory());

  const Tensor apart = tensor.in_memory();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(apart.type(), tensor.type());
  EXPECT_FALSE(tensor.is_in_memory()) << "contents for one caller are kept";

  EXPECT_EQ(copy.data<int32_t>()[5], 5);
  EXPECT_EQ(tensor.raw(), copy.raw());
  EXPECT_TRUE(tensor.is_in_memory());
  EXPECT_EQ(tensor.in_memory().raw(), tensor.raw());
  EXPECT_EQ(made, 2);
  EXPECT_TRUE(apart.same_bits(tensor));
  EXPECT_TRUE(apart.is_in_memory());
}

TEST(Tensor, DeferredContentsAreMadeOnceByManyThreads) {
  std::atomic<int> made = 0;
  const Tensor tensor = Tensor::deferred({DType::i32, {1000}}, [&] {
    ++made;
    return counting({1000});
  });
  std::vector<std::thread> readers;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) readers.emplace_back([&] { right += tensor.data<int32_t>()[999] == 999 ? 1 : 0; });
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(right, 8);
}

TEST(Tensor, DataOfAnotherTypeIsABug) {
  Tensor tensor(DType::f32, {1});
  EXPECT_EQ(name_of([&] { (void)tensor.data<int32_t>(); }), "defect");
  EXPECT_NO_THROW(Tensor(DType::f16, {1}).data<uint16_t>());
  EXPECT_NO_THROW(Tensor(DType::i4, {1}).data<int8_t>());
}

TEST(Shape, Counts) {
  EXPECT_EQ(count_elements(Dims{}), 1);
  EXPECT_EQ(count_elements(Dims{2, 3, 0}), 0);
  EXPECT_EQ(count_elements(Dims{kMaxElements}), kMaxElements);
  EXPECT_EQ(diagnostic_of([] {
              count_elements(Dims{kMaxElements, 2});
            }),
            errors::too_many_elements("[281474976710656, 2]"));
  EXPECT_EQ(name_of([] { count_elements(Dims{INT64_MAX, INT64_MAX}); }), "too_many_elements");
  EXPECT_EQ(diagnostic_of([] { count_elements(Dims{2, kUnknown}); }), errors::dims_unknown("[2, ?]"));
}

TEST(Shape, Text) {
  EXPECT_EQ(to_string(Type{DType::f32, {1, 3, kUnknown, 8}}), "f32[1, 3, ?, 8]");
  EXPECT_EQ(to_string(Type{DType::boolean, {}}), "bool[]");
  EXPECT_FALSE((Type{DType::f32, {kUnknown}}).is_static());
  EXPECT_TRUE((Type{DType::f32, {}}).is_static());
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  }
  EXPECT_EQ(parse_dtype("F32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

}  // namespace
}  // namespace halfstep
