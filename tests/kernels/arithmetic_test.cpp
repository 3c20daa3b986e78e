// Division and rounding without the matching instructions: the same bits as the plain forms, on numbers that are
// difficult for them.
#define HS_LEVEL_SOURCE "tests/kernels/arithmetic_test.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halfstep/core/base/random.h"
#include "halfstep/engine/kernels/common/simd/arithmetic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::arithmetic_test::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// dst = src / divisor for whole vectors. `any`: the division for any src, otherwise the one for the proved range.
template <class C>
bool divide(const C* src, C divisor, bool any, C* dst, int64_t size) {
  const hn::ScalableTag<C> d;
  const arithmetic::HWY_NAMESPACE::Divisor<hn::ScalableTag<C>> by(d, hn::Set(d, divisor));
  for (int64_t i = 0; i < size; i += static_cast<int64_t>(hn::Lanes(d))) {
    const auto x = hn::LoadU(d, src + i);
    hn::StoreU(any ? by.quotient_of_any(d, x) : by.quotient(x), d, dst + i);
  }
  return by.holds();
}

template <class C>
void round_away(const C* src, C* dst, int64_t size) {
  const hn::ScalableTag<C> d;
  for (int64_t i = 0; i < size; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(arithmetic::HWY_NAMESPACE::round_half_away(d, hn::LoadU(d, src + i)), d, dst + i);
}

}  // namespace halfstep::kernels::arithmetic_test::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace arithmetic_test {
namespace {

constexpr int64_t kSize = 1024;

std::vector<CpuLevel> levels() {
  std::vector<CpuLevel> simd;
  for (const CpuLevel level : available_cpu_levels()) {
    if (level == CpuLevel::avx2 || level == CpuLevel::avx512) simd.push_back(level);
  }
  return simd;
}

template <class C>
bool same(C a, C b) {
  return (a != a && b != b) || (a == b && std::signbit(a) == std::signbit(b));
}

/// A power of two times a significand of random bits, of few ones, or of few zeros.
template <class C>
C number(Random& random, int exponents) {
  const auto bits = static_cast<double>(random.below(uint64_t{1} << 53));
  const double dense = std::ldexp(bits, -53);
  const double sparse = std::ldexp(1.0, -static_cast<int>(random.below(54)));
  const double significand = 1.0 + (random.below(3) == 0 ? dense : random.below(2) == 0 ? sparse : 1.0 - sparse);
  const auto value = static_cast<C>(std::ldexp(significand, static_cast<int>(random.below(2 * exponents)) - exponents));
  return random.below(2) == 0 ? value : -value;
}

/// x near a tie between two quotients: a product with the divisor, and its neighbours.
template <class C>
std::vector<C> hard_dividends(Random& random, C divisor) {
  std::vector<C> x;
  while (x.size() < kSize) {
    const auto steps = static_cast<C>(static_cast<double>(random.below(512)) - 256.0 + 0.5);
    const C product = random.below(4) == 0 ? number<C>(random, 50) : steps * divisor;
    x.push_back(product);
    x.push_back(std::nextafter(product, std::numeric_limits<C>::infinity()));
    x.push_back(std::nextafter(product, -std::numeric_limits<C>::infinity()));
    x.push_back(-product);
  }
  return x;
}

template <class C>
void expect_quotients() {
  Random random(11, 0);
  std::vector<C> found(kSize);
  for (int trial = 0; trial < 2000; ++trial) {
    const C divisor = std::fabs(number<C>(random, 50));
    const std::vector<C> x = hard_dividends(random, divisor);
    for (const CpuLevel level : levels()) {
      const auto function = HS_SIMD_CHOOSE(level, divide<C>);
      ASSERT_TRUE(function(x.data(), divisor, false, found.data(), kSize));
      for (int64_t i = 0; i < kSize; ++i) {
        ASSERT_TRUE(x[i] == 0 || same(x[i] / divisor, found[i])) << x[i] << " / " << divisor << " at " << name(level);
      }
    }
  }
}

// A0.2
TEST(Arithmetic, QuotientsAreThoseOfTheDivision) {
  expect_quotients<float>();
  expect_quotients<double>();
}

// A0.2
TEST(Arithmetic, QuotientsOfAnyNumber) {
  Random random(12, 0);
  std::vector<float> x, found(kSize);
  for (int64_t i = 0; i < kSize; ++i)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(random.below(uint64_t{1} << 32))));
  const float limit = std::numeric_limits<float>::infinity();
  for (const float special : {0.0F, -0.0F, limit, -limit, std::nanf(""), 0x1p-149F, -0x1p-120F, 0x1p126F})
    x[random.below(kSize)] = special;
  for (int64_t i = 512; i < kSize; ++i) x[i] = i % 3 == 0 ? -0.0F : 0.25F * static_cast<float>(i);
  for (const float divisor : {127.0F, 7.0F, 32767.0F, 0.1F}) {
    for (const CpuLevel level : levels()) {
      HS_SIMD_CHOOSE(level, divide<float>)(x.data(), divisor, true, found.data(), kSize);
      for (int64_t i = 0; i < kSize; ++i) ASSERT_TRUE(same(x[i] / divisor, found[i])) << x[i] << " / " << divisor;
    }
  }
}

TEST(Arithmetic, AScaleOutOfTheProvedRangeIsNotTaken) {
  std::vector<float> x(kSize, 1.0F), found(kSize);
  for (const CpuLevel level : levels()) {
    for (const float divisor : {0.0F, -1.0F, 0x1p-61F, 0x1p61F, std::nanf(""), std::numeric_limits<float>::infinity()})
      EXPECT_FALSE(HS_SIMD_CHOOSE(level, divide<float>)(x.data(), divisor, false, found.data(), kSize)) << divisor;
  }
}

template <class C>
void expect_rounding() {
  std::vector<C> x, found(kSize);
  Random random(13, 0);
  while (x.size() < kSize) {
    const C whole = std::trunc(number<C>(random, 40));
    for (const C v : {whole, whole + C(0.5), -whole - C(0.5)}) {
      x.push_back(v);
      x.push_back(std::nextafter(v, C(1e30)));
      x.push_back(std::nextafter(v, C(-1e30)));
    }
  }
  const C limit = std::numeric_limits<C>::infinity();
  const C special[] = {C(0), C(-0.0), C(0.5), std::nextafter(C(0.5), C(0)), C(-0.5), limit, -limit, limit - limit};
  std::copy(std::begin(special), std::end(special), x.begin());
  for (const CpuLevel level : levels()) {
    HS_SIMD_CHOOSE(level, round_away<C>)(x.data(), found.data(), kSize);
    for (int64_t i = 0; i < kSize; ++i) ASSERT_TRUE(same(std::round(x[i]), found[i])) << x[i] << " at " << name(level);
  }
}

// A1.1
TEST(Arithmetic, HalfAwayFromZero) {
  expect_rounding<float>();
  expect_rounding<double>();
}

}  // namespace
}  // namespace arithmetic_test
}  // namespace halfstep::kernels
#endif
