// Requirements on every device. A new device is complete when these tests pass.
#include "halfstep/engine/runtime/device.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>

#include "halfstep/engine/runtime/device/sim/sim_device.h"
#include "halfstep/engine/runtime/errors.h"
#include "tests/runtime/toy.h"
#include "tests/support/error.h"

namespace halfstep {
namespace {

using runtime::Device;
using runtime::DeviceMemory;

constexpr Place kCuda{DeviceKind::cuda, 0};

class EveryDevice : public testing::TestWithParam<Place> {
 protected:
  Device& device() const { return runtime::device_at(GetParam()); }
};

/// Reason why the device is missing. Empty when it is there.
std::string missing(Place place) {
  return test::diagnostic_of([&] { runtime::device_at(place); }).message();
}

std::vector<Place> places() {
  std::vector<Place> all = {toy::kCpu, toy::kSim};
  if (missing(kCuda).empty()) all.push_back(kCuda);
  return all;
}

TEST(CudaDevice, IsAmongTheDevices) {
  if (const std::string reason = missing(kCuda); !reason.empty()) GTEST_SKIP() << reason;
  EXPECT_EQ(places().size(), 3U);
}

TEST(CudaDevice, AnAbsentOneIsNamed) {
  if (missing(kCuda).empty()) {
    constexpr int kMany = 1000;
    EXPECT_EQ(test::name_of([] { runtime::device_at({DeviceKind::cuda, kMany}); }), "cuda_device_unknown");
    Device& cuda = runtime::device_at(kCuda);
    const Status failed = cuda.copy(nullptr, nullptr, 4);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.diagnostic().entry->name, "cuda_failed");
    return;
  }
  const std::string_view name = test::name_of([] { runtime::device_at(kCuda); });
  EXPECT_TRUE(name == "device_not_in_build" || name == "cuda_unavailable") << name;
}

TEST(Transfer, BetweenTwoDevicesGoesThroughTheHost) {
  runtime::SimDevice other;
  std::byte memory{};
  const Status status = runtime::transfer(other, &memory, runtime::device_at(toy::kSim), &memory, 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.diagnostic(), errors::no_direct_transfer("sim", "sim"));
}

INSTANTIATE_TEST_SUITE_P(All, EveryDevice, testing::ValuesIn(places()), [](const auto& param) {
  const std::string text = to_string(param.param);
  return text.substr(0, text.find(':'));
});

std::vector<float> ramp(size_t size) {
  std::vector<float> values(size);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}
std::byte* bytes_of(std::vector<float>& values) { return reinterpret_cast<std::byte*>(values.data()); }

TEST_P(EveryDevice, KnowsItsPlace) { EXPECT_EQ(device().place(), GetParam()); }

TEST_P(EveryDevice, MemoryIsAlignedZeroAndItsOwn) {
  std::vector<DeviceMemory> all;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{4096}, size_t{100000}}) {
    const DeviceMemory& memory = all.emplace_back(device(), bytes);
    EXPECT_NE(memory.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % kAlignment, 0U);
    std::vector<std::byte> contents(bytes, std::byte{1});
    ASSERT_TRUE(device().download(contents.data(), memory.data(), bytes).ok());
    EXPECT_EQ(contents, std::vector<std::byte>(bytes));
    std::fill(contents.begin(), contents.end(), std::byte{7});
    ASSERT_TRUE(device().upload(memory.data(), contents.data(), bytes).ok());
  }
}

TEST_P(EveryDevice, CopiesThereAndBack) {
  auto values = ramp(1000);
  const DeviceMemory a(device(), 4000), b(device(), 4000);
  ASSERT_TRUE(device().upload(a.data(), bytes_of(values), 4000).ok());
  ASSERT_TRUE(device().copy(b.data() + 400, a.data(), 3600).ok());
  std::vector<float> found(900);
  ASSERT_TRUE(device().download(bytes_of(found), b.data() + 400, 3600).ok());
  EXPECT_TRUE(std::equal(found.begin(), found.end(), values.begin()));
}

TEST_P(EveryDevice, TransfersToAndFromTheHost) {
  auto values = ramp(10);
  Device& host = runtime::device_at(toy::kCpu);
  const DeviceMemory there(device(), 40), back(host, 40);
  ASSERT_TRUE(runtime::transfer(device(), there.data(), host, bytes_of(values), 40).ok());
  ASSERT_TRUE(runtime::transfer(host, back.data(), device(), there.data(), 40).ok());
  EXPECT_EQ(std::memcmp(back.data(), values.data(), 40), 0);
}

/// Devices that run functions of the host. `halfstep op` compares CUDA's kernels with the reference.
using DeviceOfHostKernels = EveryDevice;
INSTANTIATE_TEST_SUITE_P(All, DeviceOfHostKernels, testing::Values(toy::kCpu, toy::kSim),
                         [](const auto& param) { return to_string(param.param); });

/// out = in[0] + in[1] through both kinds of scratch; in[2] is absent.
Status add_through_scratch(const kernels::Call& call, int phase, int64_t piece) {
  if (call.in[2].present() || call.out[1].present() || *static_cast<const int*>(call.state) != 42)
    return Status(errors::record_wrong("absent operands or state went wrong"));
  auto* shared = reinterpret_cast<float*>(call.scratch);
  auto* own = reinterpret_cast<float*>(call.worker_scratch);
  if (phase == 0) {
    own[0] = call.in[0].as<const float>()[piece];
    shared[piece] = own[0] + call.in[1].as<const float>()[piece];
  } else {
    call.out[0].as<float>()[piece] = shared[piece];
  }
  return {};
}

TEST_P(DeviceOfHostKernels, LaunchesKernels) {
  constexpr int64_t kSize = 50;
  const kernels::Kernel kernel{"toy", toy::accept_all, toy::one_piece, add_through_scratch};
  auto values = ramp(kSize);
  const DeviceMemory x(device(), 200), y(device(), 200), out(device(), 200), scratch(device(), 200), own(device(), 4);
  ASSERT_TRUE(device().upload(x.data(), bytes_of(values), 200).ok());
  ASSERT_TRUE(device().upload(y.data(), bytes_of(values), 200).ok());
  const std::vector<int64_t> dims = {kSize};
  const std::vector<kernels::ConstView> in = {{x.data(), DType::f32, dims}, {y.data(), DType::f32, dims}, {}};
  const std::vector<kernels::View> results = {{out.data(), DType::f32, dims}, {}};
  const int state = 42;
  const kernels::Call call{&state, in, results, scratch.data(), own.data()};
  for (const int phase : {0, 1}) {
    for (int64_t piece = 0; piece < kSize; ++piece) {
      const Status status = device().launch(kernel, call, phase, piece);
      ASSERT_TRUE(status.ok()) << status.message();
    }
  }
  std::vector<float> found(kSize);
  ASSERT_TRUE(device().download(bytes_of(found), out.data(), 200).ok());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], 2 * values[i]);
}

TEST_P(EveryDevice, PassesOnWhatAKernelSays) {
  const kernels::Call call;
  EXPECT_EQ(device().launch(toy::kFail, call, 0, 3).diagnostic(), toy::broken_at(3));
}

TEST_P(DeviceOfHostKernels, ServesSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<int> good(4);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int step = 0; step < 200; ++step) {
        std::vector<float> values(33, static_cast<float>(t)), found(33);
        const DeviceMemory a(device(), 132), b(device(), 132);
        const std::vector<int64_t> dims = {33};
        const std::vector<kernels::ConstView> in = {{a.data(), DType::f32, dims}};
        const std::vector<kernels::View> out = {{b.data(), DType::f32, dims}};
        bool ok = device().upload(a.data(), bytes_of(values), 132).ok();
        ok = ok && device().launch(toy::kAddOne, {nullptr, in, out, nullptr, nullptr}, 0, 0).ok();
        ok = ok && device().download(bytes_of(found), b.data(), 132).ok();
        good[t] += ok && found == std::vector<float>(33, static_cast<float>(t + 1)) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(4, 200));
}

TEST_P(DeviceOfHostKernels, ForeignAddressesAreRefused) {
  if (device().is_host()) GTEST_SKIP() << "the host knows no foreign addresses";
  std::vector<float> host(4);
  const DeviceMemory memory(device(), 16);
  EXPECT_FALSE(device().upload(bytes_of(host), bytes_of(host), 16).ok());
  EXPECT_FALSE(device().upload(memory.data(), bytes_of(host), 17).ok());
  EXPECT_FALSE(device().download(bytes_of(host), memory.data() + 1, 16).ok());
  EXPECT_FALSE(device().copy(memory.data(), bytes_of(host), 16).ok());
  const std::vector<int64_t> dims = {4};
  const std::vector<kernels::ConstView> in = {{host.data(), DType::f32, dims}};
  const std::vector<kernels::View> out = {{memory.data(), DType::f32, dims}};
  EXPECT_FALSE(device().launch(toy::kAddOne, {nullptr, in, out, nullptr, nullptr}, 0, 0).ok());
}

using EveryDeviceDeathTest = EveryDevice;
INSTANTIATE_TEST_SUITE_P(All, EveryDeviceDeathTest, testing::Values(toy::kCpu, toy::kSim),
                         [](const auto& param) { return to_string(param.param); });

TEST_P(EveryDeviceDeathTest, HostCannotTouchItsMemory) {
  if (device().is_host()) GTEST_SKIP() << "its memory is the host's";
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const DeviceMemory memory(device(), 64);
  volatile std::byte* address = memory.data();
  EXPECT_DEATH(
      {
        const std::byte value = *address;
        (void)value;
      },
      "");
  EXPECT_DEATH({ *address = std::byte{1}; }, "");
}

TEST(Devices, OneThatIsNotThereIsNamed) {
  const std::string reason = missing({DeviceKind::cuda, 99});
  EXPECT_EQ(reason.substr(0, 11), "device cuda") << reason;
}

}  // namespace
}  // namespace halfstep
