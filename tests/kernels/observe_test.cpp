// observe_range: the effect of a batch on the state, and the same bits at every level.
#include "halfstep/engine/kernels/quantizers/native/observe.h"
#include "halfstep/core/arith/range.h"
#include "tests/kernels/quantizer_cases.h"

namespace halfstep::kernels {
namespace {

struct Observation {
  std::string method = "minmax";
  double rate = 1.0;
  int64_t code_min = 0;
  int64_t code_max = 255;
  std::string zero_points = "affine";
  bool power_of_two = false;
  int64_t axis = -1;
  bool is_test = false;
  float low = 1.0F;  // low > high: nothing observed yet
  float high = -1.0F;

  KernelCase of(const std::vector<Tensor>& batch) const {
    const int64_t count = axis < 0 ? 1 : batch[0].dims()[axis];
    KernelCase use{"observe_range",
                   {{"method", method},
                    {"rate", rate},
                    {"code_min", code_min},
                    {"code_max", code_max},
                    {"zero_points", zero_points},
                    {"power_of_two", power_of_two},
                    {"axis", axis},
                    {"is_test", is_test},
                    {"merge", std::string("moving")},
                    {"candidates", int64_t{64}},
                    {"steps", int64_t{80}},
                    {"power", 2.0},
                    {"share", 0.99999},
                    {"bins", int64_t{2048}},
                    {"deviations", 2.6},
                    {"halves", std::string("even")},
                    {"statistics", int64_t{0}},
                    {"nearest_power", false},
                    {"reach", 0.0}},
                   {cyclic<float>(DType::f32, {count}, {low}), cyclic<float>(DType::f32, {count}, {high}),
                    cyclic<float>(DType::f32, {count}, {0.25F}), cyclic<int32_t>(DType::i32, {count}, {9})},
                   {}};
    for (int port = 0; port < 4; ++port) use.out.push_back(is_test ? std::nullopt : std::optional(use.in[port].type()));
    use.in.emplace_back();  // statistics, which these methods do not have
    use.out.emplace_back();
    use.in.insert(use.in.end(), batch.begin(), batch.end());
    return use;
  }
};

Tensor values(const std::vector<float>& v) { return f32_tensor({static_cast<int64_t>(v.size())}, v); }

struct State {
  float low, high, scale;
  int32_t zero_point;
  bool operator==(const State&) const = default;
};
std::ostream& operator<<(std::ostream& out, const State& s) {
  return out << "{" << s.low << ", " << s.high << ", " << s.scale << ", " << s.zero_point << "}";
}

State observe(const Observation& how, const std::vector<Tensor>& batch) {
  const auto out = run_kernel(reference_observe_range, how.of(batch), CpuLevel::scalar);
  return {out[0].data<float>()[0], out[1].data<float>()[0], out[2].data<float>()[0], out[3].data<int32_t>()[0]};
}

// A3.6
TEST(ObserveRange, FirstBatchGivesItsExtremes) {
  EXPECT_EQ(observe({.code_max = 5}, {values({-1, 0.5F, kNan}), values({4})}), (State{-1, 4, 1, 1}));
}

// A3.6
TEST(ObserveRange, LaterBatchesMoveTheRangeByTheRate) {
  const State moved = observe({.rate = 0.25, .code_max = 4, .low = 0.0F, .high = 8.0F}, {values({-4, 4})});
  EXPECT_EQ(moved, (State{-1, 7, 2, 0}));  // zero point 0.5 rounds to even
}

// A3.4
TEST(ObserveRange, NothingSeenChangesNothing) {
  for (const char* method : {"minmax", "mse"}) {
    EXPECT_EQ(observe({.method = method, .low = -3, .high = 2}, {values({kNan, kNan})}), (State{-3, 2, 0.25F, 9}));
    EXPECT_EQ(observe({.method = method}, {values({})}), (State{1, -1, 0.25F, 9}));
  }
}

// A3.4
TEST(ObserveRange, InfinitiesAreSkipped) {
  for (const char* method : {"minmax", "mse", "quantile", "clip_std"}) {
    const State state = observe({.method = method}, {values({-2.0F, kInfinity, 1.0F, -kInfinity})});
    EXPECT_EQ(state, observe({.method = method}, {values({-2.0F, 1.0F})})) << method;
  }
}

/// The middle of the histogram bin that contains all magnitudes lies below them.
// A3.5
TEST(ObserveRange, OfOneMagnitudeIsARange) {
  for (const float sign : {-1.0F, 1.0F}) {
    const State state = observe({.method = "quantile"}, {values({sign * 1.45F, sign * 1.45F})});
    EXPECT_EQ(state.low, state.high);
    EXPECT_NEAR(state.low, sign * 1.45F, 0.001F);
  }
}

// A3.1, A3.2
TEST(ObserveRange, ZeroPointsAndPowersOfTwo) {
  EXPECT_EQ(observe({.zero_points = "offset"}, {values({0, 255})}), (State{0, 255, 1, 0}));
  EXPECT_EQ(observe({.zero_points = "offset"}, {values({-1, 127})}).zero_point, 128);
  EXPECT_EQ(observe({.code_min = -127, .code_max = 127, .zero_points = "symmetric"}, {values({-254, 3})}),
            (State{-254, 3, 2, 0}));
  EXPECT_EQ(observe({.power_of_two = true}, {values({0, 300})}).scale, 2.0F);
}

TEST(ObserveRange, NegativeZeroIsZero) { EXPECT_FALSE(std::signbit(observe({}, {values({-0.0F, 1.0F})}).low)); }

std::vector<float> with_outlier() {
  std::vector<float> v(4096);
  Random random(3, 0);
  for (float& x : v) x = random.normal();
  v[7] = 12.0F;
  return v;
}

double squared_error_of(const std::vector<float>& v, float low, float high, const arith::CodeGrid& grid) {
  const auto parameters = arith::parameters_of(low, high, grid);
  double error = 0;
  for (const float x : v) error += squared_error(x, parameters, grid);
  return error;
}

// A3.5
TEST(ObserveRange, MseGivesUpAnOutlierThatCostsMoreThanItIsWorth) {
  const std::vector<float> v = with_outlier();
  const State minmax = observe({.code_max = 15}, {values(v)});
  const State mse = observe({.method = "mse", .code_max = 15}, {values(v)});
  EXPECT_LT(mse.high, 8.0F);
  const float steps = 80.0F * mse.high / minmax.high;  // integer: the ends shrink by eightieths
  EXPECT_NEAR(steps, std::nearbyint(steps), 1e-4);
  EXPECT_FLOAT_EQ(mse.low / minmax.low, mse.high / minmax.high);
  const arith::CodeGrid grid{0, 15};
  const double best = squared_error_of(v, mse.low, mse.high, grid);
  for (int i = 0; i < 64; ++i) {
    const double factor = 1.0 - i / 80.0;
    EXPECT_LE(best, squared_error_of(v, static_cast<float>(minmax.low * factor),
                                     static_cast<float>(minmax.high * factor), grid));
  }
}

TEST(ObserveRange, MseKeepsTheExtremesWhereCodesAreEnough) {
  EXPECT_EQ(observe({.method = "mse", .code_max = 3}, {values({0, 1, 2, 3})}), (State{0, 3, 1, 0}));
}

// A3.5
TEST(ObserveRange, MseTriesPowersOfTwo) {
  const State mse = observe({.method = "mse", .code_max = 15, .power_of_two = true}, {values(with_outlier())});
  const State minmax = observe({.code_max = 15, .power_of_two = true}, {values(with_outlier())});
  EXPECT_EQ(minmax.scale, 2.0F);
  EXPECT_EQ(mse.scale, 1.0F);
}

std::vector<Observation> observations() {
  std::vector<Observation> all;
  for (const char* method : {"minmax", "mse"}) {
    for (const bool power_of_two : {false, true}) {
      all.push_back({.method = method, .power_of_two = power_of_two});
      all.push_back({.method = method,
                     .rate = 0.1,
                     .code_max = 15,
                     .zero_points = "offset",
                     .power_of_two = power_of_two,
                     .low = -0.5F,
                     .high = 3.0F});
      all.push_back({.method = method,
                     .rate = 0.3,
                     .code_min = -127,
                     .code_max = 127,
                     .zero_points = "symmetric",
                     .power_of_two = power_of_two});
    }
  }
  // Codes that cannot represent 0: the values behind the end of a run must not count as 0.
  all.push_back({.method = "mse", .code_min = 5, .code_max = 10, .zero_points = "symmetric"});
  return all;
}

void expect_levels_agree(Observation how, const Layout& layout, uint64_t stream) {
  SCOPED_TRACE(to_string(layout.dims) + " axis " + std::to_string(layout.axis) + " " + how.method);
  how.axis = layout.axis;
  Tensor normal(DType::f32, layout.dims);
  Random random(5, stream);
  for (float& v : normal.data<float>()) v = random.normal();
  expect_matches_reference(reference_observe_range, cpu_observe_range_chunks, how.of({normal}));
  KernelCase two = how.of({tie_tensor(layout.dims, 0.5F, stream), normal});
  two.in_place = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  expect_matches_reference(reference_observe_range, cpu_observe_range_chunks, two);
}

// A0.1
TEST(ObserveRange, EveryLevelGivesTheBitsOfTheReference) {
  uint64_t stream = 0;
  for (const Observation& how : observations()) {
    for (const Layout& layout : layouts()) expect_levels_agree(how, layout, ++stream);
  }
  for (const Layout& layout : large_layouts()) expect_levels_agree({.rate = 0.3}, layout, ++stream);
  // Few codes and many elements: the errors of neighbouring candidates differ only in their last digits.
  expect_levels_agree({.method = "mse", .code_max = 3, .power_of_two = true}, {{65537}}, ++stream);
  expect_levels_agree({.method = "mse", .code_max = 3}, {{3, 2, 1300}, 1}, ++stream);
}

// A3.4
TEST(ObserveRange, OperandsOfDifferentShapes) {
  for (const char* method : {"minmax", "mse"}) {
    const Observation how{.method = method, .code_max = 15, .axis = 1};
    expect_matches_reference(
        reference_observe_range, cpu_observe_range_chunks,
        how.of({tie_tensor({2, 3, 40}, 0.1F), tie_tensor({0, 3, 5}, 0.1F, 1), tie_tensor({1, 3, 7}, 0.1F, 2)}));
  }
}

TEST(ObserveRange, ReferenceInPlaceEqualsApart) {
  KernelCase use = Observation{.rate = 0.1, .axis = 0, .low = -1, .high = 1}.of({tie_tensor({6, 50}, 0.5F)});
  const auto apart = run_kernel(reference_observe_range, use, CpuLevel::scalar);
  use.in_place = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
  const auto in_place = run_kernel(reference_observe_range, use, CpuLevel::scalar);
  for (int port = 0; port < 4; ++port) EXPECT_TRUE(same_bits(apart[port], in_place[port]));
}

TEST(ObserveRange, IsTestDoesNothing) {
  const KernelCase use = Observation{.is_test = true}.of({values({1, 2})});
  for (const CpuLevel level : available_cpu_levels()) {
    run_kernel(reference_observe_range, use, level);
    if (level != CpuLevel::scalar) run_kernel(cpu_observe_range_chunks, use, level);
  }
}

/// The sums of one part, added to those of the parts before.
KernelCase part(const std::string& method, int64_t sums, const Tensor& seen, const Tensor& x) {
  KernelCase use = Observation{.method = method, .code_max = 15, .low = -3.0F, .high = 4.5F}.of({x});
  use.attributes.at("merge") = std::string("parts");
  use.attributes.at("statistics") = int64_t{3} * sums;
  use.in[4] = seen;
  use.out[4] = seen.type();
  return use;
}

// A3.9, A3.10
TEST(ObserveRange, PartsAddUpToTheWhole) {
  Tensor whole(DType::f32, {90, 700});
  Random random(5, 0);
  for (float& v : whole.data<float>()) v = std::clamp(random.normal(), -3.0F, 4.5F);
  for (const auto& [method, sums] : std::map<std::string, int64_t>{{"mse", 64}, {"quantile", 2048}, {"lsq_plus", 4}}) {
    SCOPED_TRACE(method);
    const Tensor nothing(DType::f64, {1, 3 * sums});
    expect_matches_reference(reference_observe_range, cpu_observe_range_chunks, part(method, sums, nothing, whole));
    Tensor seen = nothing;
    for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{{80, 90}, {0, 1}, {1, 80}}) {
      const auto out =
          run_kernel(reference_observe_range, part(method, sums, seen, whole.rows(begin, end)), CpuLevel::scalar);
      seen = out[4];
      EXPECT_EQ(out[0].data<float>()[0], -3.0F);
    }
    const auto at_once = run_kernel(reference_observe_range, part(method, sums, nothing, whole), CpuLevel::scalar);
    EXPECT_TRUE(same_bits(seen, at_once[4]));
  }
}

TEST(ObserveRange, RefusesOperandsWithOtherChannels) {
  KernelCase use = Observation{.axis = 0}.of({Tensor(DType::f32, {16, 9})});
  use.in.push_back(Tensor(DType::f32, {3, 9}));
  EXPECT_EQ(refusal_of(reference_observe_range, use, CpuLevel::scalar),
            errors::operand_extents_do_not_fit("an operand", "f32[3, 9]", "the 16 channels of the state on axis 0"));
}

}  // namespace
}  // namespace halfstep::kernels
