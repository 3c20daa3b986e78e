#include "halfstep/engine/eager/cache.h"

#include <gtest/gtest.h>

#include <set>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::eager {
namespace {

const OpInfo& info() { return ops::FakeQuantize::record(); }

std::vector<uint64_t> words(const Attributes& attributes, std::span<const kernels::ConstView> operands = {}) {
  const Signature signature = signature_of(info(), attributes, operands);
  return {signature.words().begin(), signature.words().end()};
}

TEST(Signature, DiffersWhereCallsDo) {
  const int64_t dims[] = {2, 3, 4};
  const float data = 0;
  const auto view = [&](DType dtype, size_t first, size_t rank) {
    return kernels::ConstView{&data, dtype, std::span(dims).subspan(first, rank)};
  };
  const std::vector<std::vector<kernels::ConstView>> operands = {
      {},
      {kernels::ConstView{}},
      {view(DType::f32, 0, 0)},
      {view(DType::f32, 0, 1)},
      {view(DType::f32, 1, 1)},
      {view(DType::f32, 0, 2)},
      {view(DType::f64, 0, 2)},
      {view(DType::f32, 0, 1), view(DType::f32, 1, 1)},
      {view(DType::f32, 0, 2), kernels::ConstView{}},
      {kernels::ConstView{}, view(DType::f32, 0, 2)},
  };
  const std::vector<Attributes> attributes = {
      {},
      {{"code_min", int64_t{1}}},
      {{"code_max", int64_t{1}}},
      {{"code_max", 1.0}},
      {{"code_max", true}},
      {{"gradient_scale", 0.0}},
      {{"gradient_scale", -0.0}},
      {{"code_type", std::string("u8")}},
      {{"code_type", std::string("u16")}},
      {{"code_type", std::string("a text of several words")}},
      {{"code_type", std::string("a text of several words ")}},
      {{"code_type", std::vector<std::string>{"u8"}}},
      {{"axis", std::vector<int64_t>{1}}},
      {{"axis", std::vector<int64_t>{1, 0}}},
      {{"axis", std::vector<double>{1}}},
  };
  std::set<std::vector<uint64_t>> seen;
  for (const auto& o : operands) {
    for (const auto& a : attributes) EXPECT_TRUE(seen.insert(words(a, o)).second);
  }
  EXPECT_EQ(words(attributes[9], operands[7]), words(attributes[9], operands[7]));
}

TEST(Signature, OfAnyLength) {
  const std::vector<int64_t> dims(200, 1);
  const float data = 0;
  const std::vector<kernels::ConstView> operands(2, kernels::ConstView{&data, DType::f32, dims});
  EXPECT_EQ(words({}, operands).size(), 1U + 2 * 201);
  EXPECT_EQ(words({}, operands), words({}, operands));
}

TEST(Cache, KeepsWhatIsUsedAndStaysBounded) {
  Cache cache;
  const Tensor x(DType::f32, {1}), zero_point(DType::i32, {1});
  const auto signature = [](int64_t code_max) { return signature_of(info(), {{"code_max", code_max}}, {}); };
  const std::vector<kernels::ConstView> operands = {
      {x.raw(), DType::f32, x.dims()}, {x.raw(), DType::f32, x.dims()}, {zero_point.raw(), DType::i32, x.dims()}};
  const auto prepared = std::make_shared<const Prepared>(info(), Attributes(), operands);
  cache.insert(signature(0), prepared);
  constexpr auto kMost = static_cast<int64_t>(Cache::kSets * Cache::kWays);
  for (int64_t i = 1; i < 4 * kMost; ++i) {
    EXPECT_EQ(cache.find(signature(i)), nullptr);
    cache.insert(signature(i), prepared);
    EXPECT_EQ(cache.find(signature(0)), prepared) << "it is used all the time";
  }
  EXPECT_LE(cache.size(), Cache::kSets * Cache::kWays);
  EXPECT_GT(cache.size(), Cache::kSets * Cache::kWays / 2);
}

}  // namespace
}  // namespace halfstep::eager
