// Bit widths chosen under a budget, on networks that are small enough to try every assignment.
#include "halfstep/tune/allocation/allocation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/allocation/errors.h"
#include "halfstep/tune/allocation/latency.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::allocation {
namespace {

constexpr const char* kChip = R"(base: generic_int8
platform: chip
doc: Four bit_widths.
weights: {bits: 8, legal_bits: [2, 4, 6, 8], granularity: channel, observer: minmax}
activations: {bits: 8, legal_bits: [4, 8], observer: minmax}
low_bits: {below: 8, observer: mse, learned: false}
legal: %s
)";

quant::Platform chip(const std::string& legal = "[]") {
  std::string text = kChip;
  text.replace(text.find("%s"), 2, legal);
  return quant::parse_platform(text, "chip.yaml");
}

data::Dataset random_data() {
  data::Dataset data;
  data.name = "random";
  data.x = Tensor(DType::f32, {128, 8});
  Random random(5, 0);
  for (float& value : data.x.data<float>()) value = random.normal();
  data.raw = false;
  return data;
}

data::Samples all_of(const data::Dataset& data) {
  data::Samples samples{&data, {}, "x", {}};
  for (int64_t i = 0; i < data.size(); ++i) samples.indices.push_back(i);
  return samples;
}

Model three_layers(const data::Dataset& data, const quant::Platform& platform) {
  const Model network = train::initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[24, 8]\n  param @v: f32[12, 24]\n  param @w: f32[5, 12]\n"
            "  a = linear(x, w=@u)\n  r = relu(a)\n  b = linear(r, w=@v)\n  s = relu(b)\n  y = linear(s, w=@w)\n"
            "  return y\n}\n",
            "g.ir"),
      3);
  Model model = quant::prepare(network, platform);
  ThreadPool pool(1);
  train::calibrate(model, all_of(data), {}, pool);
  return model;
}

Allocation allocated(const Model& model, const data::Dataset& data, const std::string& budget, Options options = {},
                     int threads = 1) {
  ThreadPool pool(threads);
  options.budgets = parse_budgets(budget);
  options.samples = 64;
  options.choose_first_last = true;
  return allocate(model, all_of(data), options, 0, pool);
}

/// Calls `visit` with every assignment of legal bit widths.
template <class Visit>
void every(const Layout& layout, const Visit& visit, Assignment so_far = {}) {
  if (so_far.size() == layout.groups.size()) return visit(so_far);
  for (const int width : layout.groups[so_far.size()].bit_widths) {
    so_far.push_back(width);
    every(layout, visit, so_far);
    so_far.pop_back();
  }
}

bool clashes(const Layout& layout, const Assignment& assignment) {
  return std::ranges::any_of(layout.clashes, [&](const Clash& clash) {
    return std::ranges::all_of(
        clash, [&](const auto& one) { return assignment[static_cast<size_t>(one.first)] == one.second; });
  });
}

/// Size and bitops, computed from the shapes of the network alone: u 24x8 reads x, v 12x24 reads r, w 5x12 reads s.
struct ByHand {
  double size, bitops, sensitivity;
};

ByHand by_hand(const Allocation& found, const Assignment& assignment) {
  std::map<std::string, int> bits;
  double sensitivity = 0;
  for (size_t g = 0; g < assignment.size(); ++g) {
    bits[found.layout.groups[g].tensor] = assignment[g];
    sensitivity += found.sensitivity[g].at(assignment[g]);
  }
  const auto bytes = [&](const char* tensor, double count) { return bits.at(tensor) <= 4 ? count / 2 : count; };
  return {
      bytes("u", 192) + bytes("v", 288) + bytes("w", 60),
      192.0 * bits.at("u") * bits.at("x") + 288.0 * bits.at("v") * bits.at("r") + 60.0 * bits.at("w") * bits.at("s"),
      sensitivity};
}

TEST(Allocation, IsTheLeastOfAll) {
  const data::Dataset data = random_data();
  const Model model = three_layers(data, chip());
  for (const double bitops : {6e3, 9e3, 15e3, 24e3}) {
    const Allocation found = allocated(model, data, fmt::format("bitops<={}", bitops));
    double best = 1e30;
    every(found.layout, [&](const Assignment& one) {
      const ByHand cost = by_hand(found, one);
      if (cost.bitops <= bitops) best = std::min(best, cost.sensitivity);
    });
    const ByHand chosen = by_hand(found, found.chosen.assignment);
    EXPECT_NEAR(chosen.sensitivity, best, 1e-12) << bitops;
    EXPECT_LE(chosen.bitops, bitops);
    EXPECT_DOUBLE_EQ(found.chosen.costs.bitops, chosen.bitops);
    EXPECT_NEAR(found.bound, best, 1e-6 * best);
  }
}

TEST(Allocation, SizesAreThoseOfTheConvertedNetwork) {
  const data::Dataset data = random_data();
  const Model model = three_layers(data, chip());
  const Allocation before = allocated(model, data, "size<=1000MB");
  for (const double less : {50.0, 120.0, 260.0}) {
    const double most = before.chosen.costs.size - less;
    const Allocation found = allocated(model, data, fmt::format("size<={}B", most));
    EXPECT_LE(found.measured.size, most);
    EXPECT_EQ(found.measured.size, found.chosen.costs.size);
    EXPECT_EQ(before.chosen.costs.size - found.chosen.costs.size,
              by_hand(before, before.chosen.assignment).size - by_hand(found, found.chosen.assignment).size);
  }
}

/// A chip whose 4-bit weights can only read 4-bit codes.
TEST(Allocation, BitWidthsThatMustNotMeetDoNot) {
  const data::Dataset data = random_data();
  const quant::Platform platform = chip(
      "[{op: linear, reads: [4], weights: [4], activations: [4, 8], reason: pairs}, {op: linear, weights: [8], "
      "activations: "
      "[4, 8], reason: others}]");
  const Model model = three_layers(data, platform);
  const Allocation free = allocated(model, data, "size<=1000MB");
  EXPECT_FALSE(free.layout.clashes.empty());
  const Allocation found = allocated(model, data, fmt::format("size<={}B", free.chosen.costs.size - 200));
  EXPECT_FALSE(clashes(found.layout, found.chosen.assignment));
  double best = 1e30;
  every(found.layout, [&](const Assignment& one) {
    const ByHand cost = by_hand(found, one);
    const double size = found.chosen.costs.size - by_hand(found, found.chosen.assignment).size + cost.size;
    if (!clashes(found.layout, one) && size <= free.chosen.costs.size - 200) best = std::min(best, cost.sensitivity);
  });
  EXPECT_NEAR(found.chosen.sensitivity, best, 1e-12);
}

TEST(Allocation, NumbersDependOnNoThreads) {
  const data::Dataset data = random_data();
  const Model model = three_layers(data, chip());
  const Allocation one = allocated(model, data, "bitops<=9k", {}, 1),
                   three = allocated(model, data, "bitops<=9k", {}, 3);
  EXPECT_EQ(digest_hex(one.model), digest_hex(three.model));
  EXPECT_EQ(one.sensitivity, three.sensitivity);
  EXPECT_EQ(one.chosen.loss, three.chosen.loss);
}

TEST(Allocation, FrontRisesAndUniformBitWidthsAreThere) {
  const data::Dataset data = random_data();
  const Allocation found = allocated(three_layers(data, chip()), data, "bitops<=9k");
  ASSERT_GT(found.front.size(), 3U);
  for (size_t i = 1; i < found.front.size(); ++i) {
    EXPECT_GT(found.front[i].costs.bitops, found.front[i - 1].costs.bitops);
    EXPECT_LE(found.front[i].sensitivity, found.front[i - 1].sensitivity);
  }
  EXPECT_TRUE(
      std::ranges::any_of(found.uniform, [](const Point& one) { return one.what == "weights 4, activations 4"; }));
  for (const Point& point : found.uniform) {
    if (point.costs.bitops <= 9e3) {
      EXPECT_LE(found.chosen.loss, point.loss);
    }
  }
}

TEST(Allocation, NamesTheNearestWhereNothingFits) {
  const data::Dataset data = random_data();
  const Model model = three_layers(data, chip());
  EXPECT_EQ(test::name_of([&] { allocated(model, data, "size<=100B, bitops<=1k"); }), "budget_out_of_reach");
  EXPECT_EQ(test::kind_of([&] { allocated(model, data, "size<=100B"); }), ErrorKind::unsupported);
}

TEST(Allocation, NeedsAPreparedNetworkABudgetAndAChoice) {
  const data::Dataset data = random_data();
  const Model model = three_layers(data, chip());
  ThreadPool pool(1);
  EXPECT_EQ(test::diagnostic_of([&] { allocate(model, all_of(data), {}, 1, pool, {}); }), errors::budget_missing());
  const Model floats = train::initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[4, 8]\n  a = linear(x, w=@u)\n  return a\n}\n", "g.ir"), 3);
  EXPECT_EQ(test::diagnostic_of([&] { allocate(floats, all_of(data), {}, 1, pool, {}); }),
            errors::network_not_prepared());
  const quant::Platform narrow =
      quant::load_platform("generic_int8", {{"weights.legal_bits", "[8]"}, {"activations.legal_bits", "[8]"}});
  EXPECT_EQ(test::diagnostic_of([&] { allocated(three_layers(data, narrow), data, "size<=1kB"); }),
            errors::nothing_to_choose("generic_int8"));
}

/// A platform that refuses one layer at every bit width.
TEST(Allocation, NamesALayerThatHasNoWidth) {
  const data::Dataset data = random_data();
  Model model = three_layers(data, chip());
  model.metadata.platform = PlatformRecord(chip("[{op: linear, refused: true, reason: no products}]").text);
  EXPECT_EQ(test::name_of([&] { allocated(model, data, "size<=1kB"); }), "no_width_for_layer");
}

/// A table of board timings, by bit width. Some bit widths are missing from it.
class Table : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& lines) {
    std::ofstream(folder_.path() / "board.csv") << "layer,weights,activations,milliseconds\n" << lines;
    return folder_.path() / "board.csv";
  }

  test::TemporaryFolder folder_;
  data::Dataset data_ = random_data();
  Model model_ = three_layers(data_, chip());
};

TEST_F(Table, DecidesByItsTimes) {
  std::string lines;
  for (const char* layer : {"a", "b", "y"}) {
    for (const int weights : {4, 8}) {
      for (const int activations : {4, 8})
        lines += fmt::format("{},{},{},{}\n", layer, weights, activations, weights + activations);
    }
  }
  Options options;
  options.table = write(lines);
  const Allocation found = allocated(model_, data_, "latency<=30ms", options);
  EXPECT_LE(*found.chosen.costs.latency, 30);
  EXPECT_EQ(found.latency_source, options.table.string());
  for (size_t g = 0; g < found.layout.groups.size(); ++g) {
    if (!found.layout.groups[g].is_weight) continue;
    EXPECT_TRUE(found.chosen.assignment[g] == 4 || found.chosen.assignment[g] == 8) << "the table has no other";
  }
  EXPECT_GT(*allocated(model_, data_, "latency<=48ms", options).chosen.costs.latency, 30);
}

TEST_F(Table, NamesAllThatIsWrong) {
  Options options;
  options.table = write("a,8,8,1\nq,8,8,1\n");
  const auto refused = [&] { return test::diagnostics_of([&] { allocated(model_, data_, "latency<=3ms", options); }); };
  const std::string path = options.table.string();
  EXPECT_EQ(refused(), (std::vector<Diagnostic>{errors::latency_table_layer_unknown(path + ": line 3", "'q'"),
                                                errors::latency_table_layer_missing(path, "b"),
                                                errors::latency_table_layer_missing(path, "y")}));
  for (const auto& [line, found] : {std::pair("a,8,8,fast\n", "'a,8,8,fast'"), {"a,8,8\n", "3 cells"}}) {
    options.table = write(line);
    const auto all = refused();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0], errors::latency_table_row_malformed(path + ": line 2", found, all[0].expected));
  }
}

TEST(Latency, IsMeasuredHere) {
  const data::Dataset data = random_data();
  const Allocation found = allocated(three_layers(data, chip()), data, "latency<=1s");
  EXPECT_GT(*found.chosen.costs.latency, 0);
  EXPECT_GT(*found.measured.latency, 0);
  EXPECT_EQ(found.latency_source, "this machine, 1 thread");
}

TEST(Latency, OfWhatHasNoIntegersIsNotMeasured) {
  const data::Dataset data = random_data();
  const quant::Platform levels = quant::parse_platform(chip().text, "chip.yaml", {{"weights.quantizer", "apot"}});
  const Model uneven = three_layers(data, levels);
  const Allocation found = allocated(three_layers(data, chip()), data, "size<=1kB");
  ThreadPool pool(1);
  EXPECT_EQ(test::name_of([&] {
              measure(
                  found.layout, [&](const Assignment&) { return uneven; }, all_of(data), pool);
            }),
            "no_bit_widths_measured");
}

TEST(Budget, IsReadWithUnits) {
  const auto budgets = parse_budgets("latency<=3ms, size <= 200kB,bitops<=1.5G");
  ASSERT_EQ(budgets.size(), 3U);
  EXPECT_EQ(budgets[0].most, 3);
  EXPECT_EQ(budgets[1].most, 200e3);
  EXPECT_EQ(budgets[2].most, 1.5e9);
  EXPECT_EQ(parse_budgets("latency<=2s")[0].most, 2000);
  EXPECT_EQ(parse_budgets("size<=2KiB")[0].most, 2048);
  for (const char* wrong : {"", "size", "size<200", "size<=", "size<=-3B", "size<=3", "size<=3ms", "bitops<=3kB",
                            "speed<=3", "size<=3kB,", "size<=nanB"})
    EXPECT_EQ(test::name_of([&] { parse_budgets(wrong); }), "budget_malformed") << wrong;
  EXPECT_EQ(test::diagnostic_of([] { parse_budgets("size<=3kB,size"); }), errors::budget_malformed("size"));
  EXPECT_EQ(test::diagnostic_of([] { parse_budgets("size<=3B,size<=4B"); }), errors::budget_twice("size"));
}

}  // namespace
}  // namespace halfstep::allocation
