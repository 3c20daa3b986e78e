// Shared element code of kernels: conversions against core/base/small_float.h, and the loop over channels of every
// length.
#define HS_LEVEL_SOURCE "tests/kernels/elements_test.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halfstep/core/base/random.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::elements_test::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;

template <bool kCodes>
struct Sum {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 2>& parameters, V x) const {
    const V sum = hn::Add(hn::Mul(x, parameters[0]), parameters[1]);
    return kCodes ? simd::as_low_bits(d, sum) : sum;
  }
};

/// dst = C(x) * a + b by channel, rounded half to even for codes.
template <class C, class T, class U>
void multiply_and_add(const elements::Walk& walk, const C* a, const C* b, const T* src, U* dst, int64_t begin,
                      int64_t end) {
  simd::apply<C, 2>(walk, Sum<std::is_integral_v<U>>(), {a, b}, begin, end, dst, src);
}

struct Same {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D, const std::array<V, 0>&, V x) const {
    return x;
  }
};

template <class C, class T, class U>
void convert(const elements::Walk& walk, const T* src, U* dst, int64_t begin, int64_t end) {
  simd::apply<C, 0>(walk, Same(), {}, begin, end, dst, src);
}

}  // namespace halfstep::kernels::elements_test::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace elements_test {
namespace {

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> simd;
  for (const CpuLevel level : available_cpu_levels()) {
    if (level == CpuLevel::avx2 || level == CpuLevel::avx512) simd.push_back(level);
  }
  return simd;
}

elements::Walk whole_walk(size_t size, bool stream) {
  elements::Walk walk(Channels{1, 1, static_cast<int64_t>(size)}, 0);
  walk.stream = stream;
  return walk;
}

/// Floats on and beside every value of a 16-bit type, and halfway between neighbours.
template <class T>
std::vector<float> hard_floats() {
  std::vector<float> values;
  T code;
  for (unsigned bits = 0; bits < 0x10000U; ++bits) {
    code.bits = static_cast<uint16_t>(bits);
    const auto value = static_cast<float>(code);
    code.bits = static_cast<uint16_t>(bits + 1);
    const float between = (value + static_cast<float>(code)) / 2.0F;
    for (const float v : {value, between}) {
      values.push_back(v);
      values.push_back(std::nextafter(v, std::numeric_limits<float>::infinity()));
      values.push_back(std::nextafter(v, -std::numeric_limits<float>::infinity()));
    }
  }
  return values;
}

bool same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b); }

template <class T>
void expect_conversions() {
  const std::vector<float> values = hard_floats<T>();
  for (const CpuLevel level : levels()) {
    for (const bool stream : {false, true}) {
      std::vector<T> narrow(values.size() + 3);
      std::vector<float> wide(values.size());
      const auto size = static_cast<int64_t>(values.size());
      const elements::Walk walk = whole_walk(values.size(), stream);
      const auto to_narrow = HS_SIMD_CHOOSE(level, convert<float, float, T>);
      const auto to_wide = HS_SIMD_CHOOSE(level, convert<float, T, float>);
      to_narrow(walk, values.data(), narrow.data() + 3, 0, size);
      to_wide(walk, narrow.data() + 3, wide.data(), 0, size);
      for (size_t i = 0; i < values.size(); ++i) {
        const T want(values[i]);
        ASSERT_TRUE(same(static_cast<float>(want), wide[i])) << values[i] << " at " << name(level);
        ASSERT_TRUE(values[i] != values[i] || want.bits == narrow[i + 3].bits) << values[i] << " at " << name(level);
      }
    }
  }
}

// A11.2
TEST(Elements, HalfRoundsHalfToEven) { expect_conversions<Half>(); }
// A11.2
TEST(Elements, BFloat16RoundsHalfToEven) { expect_conversions<BFloat16>(); }

template <class C, class T, class U>
void expect_product(const Channels& channels, bool stream, bool in_pieces) {
  SCOPED_TRACE(testing::Message() << channels.outer << " x " << channels.count << " x " << channels.run);
  elements::Walk walk(channels, 0);
  walk.stream = stream;
  const int64_t size = channels.size();
  Random random(3, static_cast<uint64_t>(size));
  std::vector<T> src(static_cast<size_t>(size));
  for (T& x : src) x = T(static_cast<float>(random.below(60)) - 30.0F);
  std::vector<C> a, b;
  for (int64_t c = 0; c < channels.count; ++c) a.push_back(C(0.5) * C(1 + c % 7)), b.push_back(C(c % 5));
  for (const CpuLevel level : levels()) {
    std::vector<U> dst(static_cast<size_t>(size) + 1, U(99.0F));
    const int64_t step = in_pieces ? std::max<int64_t>(1, size / 3 + 1) : size;
    const auto function = HS_SIMD_CHOOSE(level, multiply_and_add<C, T, U>);
    for (int64_t begin = 0; begin < size; begin += step)
      function(walk, a.data(), b.data(), src.data(), dst.data(), begin, std::min(size, begin + step));
    for (int64_t i = 0; i < size; ++i) {
      const int64_t c = i / channels.run % channels.count;
      const C sum = static_cast<C>(src[i]) * a[c] + b[c];
      const U want = U(std::is_integral_v<U> ? std::nearbyint(sum) : sum);
      ASSERT_EQ(static_cast<C>(want), static_cast<C>(dst[i])) << "element " << i << " at " << name(level);
    }
    EXPECT_EQ(static_cast<float>(dst.back()), 99.0F) << "written past the end at " << name(level);
  }
}

TEST(Elements, EveryRunOfAChannelHasItsParameters) {
  for (const int64_t run : {1, 2, 3, 5, 7, 8, 15, 16, 17, 49, 63, 64, 65, 200}) {
    for (const int64_t count : {1, 2, 3, 16, 33, 1024, 1500}) {
      if (run * count > 20000) continue;
      for (const int64_t outer : {1, 3, 40}) {
        if (outer * run * count > 100000) continue;
        const Channels channels{outer, count, run};
        const bool stream = (run + count) % 2 == 0;
        expect_product<float, float, float>(channels, stream, true);
        expect_product<float, Half, BFloat16>(channels, !stream, true);
        expect_product<double, double, double>(channels, stream, true);
        expect_product<float, int8_t, Half>(channels, stream, false);
        expect_product<double, int8_t, double>(channels, stream, true);
        expect_product<float, double, float>(channels, !stream, true);
      }
    }
  }
}

TEST(Elements, CodesOfOneAndTwoBytes) {
  for (const Channels& channels : {Channels{3, 5, 7}, Channels{2, 3, 70}, Channels{1, 1, 33}, Channels{1, 1, 9001}}) {
    for (const bool stream : {false, true}) {
      expect_product<float, BFloat16, int8_t>(channels, stream, true);
      expect_product<float, float, int16_t>(channels, stream, true);
      expect_product<float, float, uint16_t>(channels, stream, true);
      expect_product<float, float, uint8_t>(channels, stream, true);
    }
  }
}

}  // namespace
}  // namespace elements_test
}  // namespace halfstep::kernels
#endif
