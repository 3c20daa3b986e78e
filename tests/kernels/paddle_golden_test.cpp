// Every stored case of Paddle 3.3.1 (HALFSTEP_TEST_DATA/golden, README-paddle.md) through our operators: no bit may
// differ.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "halfstep/io/safetensors.h"
#include "halfstep/kernels/ops.h"
#include "tests/kernels/kernel_harness.h"

namespace halfstep::kernels {
namespace {

using nlohmann::json;

struct Golden {
  std::vector<json> cases;
  std::map<std::string, Tensor> tensors;
};

/// Empty where the data folder lacks the vectors.
const Golden& golden() {
  static const Golden loaded = [] {
    const std::filesystem::path folder = std::filesystem::path(HALFSTEP_TEST_DATA) / "golden";
    Golden golden;
    if (!std::filesystem::exists(folder / "paddle.json")) return golden;
    golden.cases = json::parse(std::ifstream(folder / "paddle.json")).get<std::vector<json>>();
    golden.tensors = io::read_safetensors(folder / "paddle.safetensors").tensors;
    return golden;
  }();
  return loaded;
}

std::vector<json> cases_of(const std::string& op) {
  std::vector<json> cases;
  for (const json& entry : golden().cases) {
    if (entry["op"] == op && !entry.contains("error")) cases.push_back(entry);
  }
  return cases;
}

Tensor tensor_of(const json& ports, const char* port) {
  if (!ports.contains(port) || ports[port].is_null()) return {};
  return golden().tensors.at(ports[port].get<std::string>());
}

std::optional<Type> type_of(const Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor.type()) : std::nullopt;
}

KernelCase case_of(const json& entry, const std::vector<const char*>& in, const std::vector<const char*>& out,
                   Attributes attributes) {
  KernelCase use{entry["op"], std::move(attributes), {}, {}};
  for (const char* port : in) use.in.push_back(tensor_of(entry["in"], port));
  for (const char* port : out) use.out.push_back(type_of(tensor_of(entry["out"], port)));
  return use;
}

/// The reference, and at every level `kernel` where it takes the case.
void expect_golden(const json& entry, const KernelCase& use, const std::vector<const char*>& out,
                   const Kernel& reference, const Kernel& kernel) {
  SCOPED_TRACE(entry["id"].get<std::string>());
  for (const CpuLevel level : available_cpu_levels()) {
    const bool takes = static_cast<bool>(verdict_of(kernel, use, level));
    const auto results = run_kernel(takes ? kernel : reference, use, level, PieceOrder::shuffled);
    for (size_t port = 0; port < out.size(); ++port)
      EXPECT_TRUE(same_bits(tensor_of(entry["out"], out[port]), results[port])) << out[port] << " at " << name(level);
  }
}

TEST(PaddleGolden, MovingAverage) {
  const auto cases = cases_of("fake_quantize_dequantize_moving_average_abs_max");
  if (cases.empty()) GTEST_SKIP() << "no golden vectors of Paddle in " HALFSTEP_TEST_DATA;
  EXPECT_EQ(cases.size(), 522U);
  for (const json& entry : cases) {
    const json& attr = entry["attr"];
    const std::vector<const char*> out = {"out", "out_scale", "out_state", "out_accum"};
    const KernelCase use = case_of(entry, {"x", "in_scale", "in_accum", "in_state"}, out,
                                   {{"bit_length", attr.value("bit_length", int64_t{8})},
                                    {"round_type", attr.value("round_type", int64_t{1})},
                                    {"is_test", attr.value("is_test", false)},
                                    {"moving_rate", attr.value("moving_rate", 0.9)}});
    expect_golden(entry, use, out, reference_fake_quantize_dequantize_moving_average_abs_max,
                  cpu_fake_quantize_dequantize_moving_average_abs_max_simd);
  }
}

TEST(PaddleGolden, ChannelWise) {
  const auto cases = cases_of("fake_channel_wise_quantize_dequantize_abs_max");
  if (cases.empty()) GTEST_SKIP() << "no golden vectors of Paddle in " HALFSTEP_TEST_DATA;
  EXPECT_EQ(cases.size(), 130U);
  for (const json& entry : cases) {
    const json& attr = entry["attr"];
    const std::vector<const char*> out = {"out", "out_scale"};
    const KernelCase use = case_of(entry, {"x"}, out,
                                   {{"bit_length", attr.value("bit_length", int64_t{8})},
                                    {"round_type", attr.value("round_type", int64_t{1})},
                                    {"quant_axis", attr.value("quant_axis", int64_t{0})}});
    expect_golden(entry, use, out, reference_fake_channel_wise_quantize_dequantize_abs_max,
                  cpu_fake_channel_wise_quantize_dequantize_abs_max_simd);
  }
}

}  // namespace
}  // namespace halfstep::kernels
