// Memory and work of verbs at sizes of 1x, 2x and 4x, in bytes that operator new returns. An exponent of 1 is linear.
// Large tensors have an allocator of their own, which does not count here.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <utility>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "tests/support/files.h"

namespace {

std::atomic<int64_t> allocated{0};  ///< total bytes
std::atomic<int64_t> live{0}, peak{0};

void* counted(size_t bytes, size_t alignment) {
  const size_t padded = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, padded);
  if (memory == nullptr) throw std::bad_alloc();
  const auto usable = static_cast<int64_t>(malloc_usable_size(memory));
  allocated += usable;
  const int64_t now = live += usable;
  for (int64_t most = peak; now > most && !peak.compare_exchange_weak(most, now);) {
  }
  return memory;
}

void uncounted(void* memory) {
  if (memory != nullptr) live -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<size_t>(alignment)); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, size_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { uncounted(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { uncounted(memory); }

namespace halfstep::api {
namespace {

constexpr double kMostExponent = 1.15;

Settings one_thread() { return {1, 0, {}}; }

struct Memory {
  double allocated, peak;
};

Memory memory_of(const std::function<void()>& verb) {
  const int64_t before = live;
  allocated = 0;
  peak = before;
  verb();
  return {static_cast<double>(allocated), static_cast<double>(peak - before)};
}

/// The larger exponents of those from 1x to 2x and from 2x to 4x. `prepare` creates the input of the verb and does not
/// count. Prints a row of the table of growth.
Memory exponents_of(int64_t size, const std::function<std::function<void()>(int64_t)>& prepare, const char* what) {
  std::vector<Memory> found;
  for (const int64_t factor : {1, 2, 4}) found.push_back(memory_of(prepare(factor * size)));
  Memory exponent = {0, 0};
  for (size_t i = 1; i < found.size(); ++i) {
    exponent.allocated = std::max(exponent.allocated, std::log2(found[i].allocated / found[i - 1].allocated));
    exponent.peak = std::max(exponent.peak, std::log2(found[i].peak / found[i - 1].peak));
  }
  std::printf("%-22s %-24s sizes %4ld to %4ld  exponents: allocated %.2f, peak %.2f (%.1f MB)\n",
              testing::UnitTest::GetInstance()->current_test_info()->name(), what, static_cast<long>(size),
              static_cast<long>(4 * size), exponent.allocated, exponent.peak, found.back().peak / 1e6);
  return exponent;
}

void expect_linear(int64_t size, const std::function<std::function<void()>(int64_t)>& prepare, const char* what = "") {
  const Memory exponent = exponents_of(size, prepare, what);
  EXPECT_LE(exponent.allocated, kMostExponent) << what;
  EXPECT_LE(exponent.peak, kMostExponent) << what;
}

Tensor noise(Dims dims, uint64_t stream) {
  Tensor tensor(DType::f32, std::move(dims));
  Random random(1, stream);
  for (float& value : tensor.data<float>()) value = random.normal();
  return tensor;
}

Model with_noise(const std::string& text) {
  Model model{parse(text), {}, {}, {}};
  uint64_t stream = 2;
  for (const Value tensor : model.graph.tensors()) model.tensors.emplace(tensor.name(), noise(tensor.dims(), stream++));
  return model;
}

/// A chain of operations, each reading the one before. "{}" in `op` is that operand. They share a number and a row of
/// numbers.
Model chain(int64_t ops, const char* op) {
  std::string text = "graph chain(x: f32[?, 8]) {\n  param @number: f32[]\n  param @row: f32[8]\n", last = "x";
  for (int64_t i = 0; i < ops; ++i) {
    text += fmt::format("  v{} = {}\n", i, fmt::format(fmt::runtime(op), last));
    last = fmt::format("v{}", i);
  }
  return with_noise(text + fmt::format("  return y = {}\n}}\n", last));
}

/// Layers, each with a residual sum around it.
Model residuals(int64_t count) {
  std::string body, last = "x";
  for (int64_t i = 0; i < count; ++i) {
    body += fmt::format("  c{0} = linear({1}, w=@w)\n  v{0} = add(a={1}, b=c{0})\n", i, last);
    last = fmt::format("v{}", i);
  }
  return with_noise(
      fmt::format("graph residuals(x: f32[?, 8]) {{\n  param @w: f32[8, 8]\n{}  return y = {}\n}}\n", body, last));
}

/// Values that all live until the last one is computed.
Model at_once(int64_t count) {
  std::string body, all;
  for (int64_t i = 0; i < count; ++i) {
    body += fmt::format("  v{} = leaky_relu(x) {{alpha: {}}}\n", i, 0.5 / static_cast<double>(i + 1));
    all += fmt::format("{}v{}", i == 0 ? "" : ", ", i);
  }
  return with_noise(
      fmt::format("graph at_once(x: f32[?, 8]) {{\n{}  y = concat(x=[{}]) {{axis: 1}}\n  return y\n}}\n", body, all));
}

/// A sum of `count` linear layers.
Model branches(int64_t count) {
  std::string text = "graph branches(x: f32[?, 8]) {\n", body, all;
  for (int64_t i = 0; i < count; ++i) {
    text += fmt::format("  param @w{}: f32[8, 8]\n", i);
    body += fmt::format("  v{0} = linear(x, w=@w{0})\n", i);
    all += fmt::format("{}v{}", i == 0 ? "" : ", ", i);
  }
  return with_noise(text + body + fmt::format("  s = sum_of(x=[{}])\n  return y = s\n}}\n", all));
}

/// `count` outputs, each from its own layer.
Model outputs(int64_t count) {
  std::string text = "graph outputs(x: f32[?, 8]) {\n", body, all;
  for (int64_t i = 0; i < count; ++i) {
    text += fmt::format("  param @w{}: f32[8, 8]\n", i);
    body += fmt::format("  v{0} = linear(x, w=@w{0})\n", i);
    all += fmt::format("{}y{} = v{}", i == 0 ? "" : ", ", i, i);
  }
  return with_noise(text + body + fmt::format("  return {}\n}}\n", all));
}

/// A convolution and SiLU as PyTorch exports it.
Model image_of(int64_t width, int64_t channels) {
  return with_noise(
      fmt::format("graph image(x: f32[?, 3, 8, {}]) {{\n  param @w: f32[{}, 3, 3, 3]\n"
                  "  c = conv2d(x, w=@w) {{pad: [1, 1, 1, 1]}}\n  s = sigmoid(c)\n  m = mul(a=c, b=s)\n"
                  "  return y = m\n}}\n",
                  width, channels));
}
Model image(int64_t width) { return image_of(width, 8); }
Model channels(int64_t count) { return image_of(8, count); }

Dataset samples_for(const Model& network, int64_t count = 8) {
  Dims dims = network.graph.arguments().front().dims();
  dims[0] = count;
  return make_data({{"x", noise(dims, 1)}}, "noise", {.all = true});
}

Model quantized(const Model& network, const Dataset& data) {
  return quantize(network, quant::load_platform("generic_int8"), data, {}, one_thread()).model;
}

std::function<void()> quantizing(const Model& network, int64_t samples = 8) {
  return [network, data = samples_for(network, samples)] { quantized(network, data); };
}

/// Runs a verb on a prepared network, its integer program and samples.
using Verb = std::function<void(const Model& prepared, const Model& integer, const Dataset& data)>;

std::function<void()> working(const Model& network, const Verb& verb) {
  const Dataset data = samples_for(network);
  const Model prepared = quantized(network, data);
  return [prepared, data, verb, integer = convert(prepared).model] { verb(prepared, integer, data); };
}

/// A chain of layers with separate weights, whose values keep their range.
Model layers(int64_t count) {
  std::string text = "graph layers(x: f32[?, 8]) {\n  param @ones: f32[8]\n", body, last = "x";
  for (int64_t i = 0; i < count; ++i) {
    text += fmt::format("  param @w{}: f32[8, 8]\n", i);
    body += fmt::format(
        "  c{0} = linear({1}, w=@w{0})\n  s{0} = add(a={1}, b=c{0})\n  v{0} = layer_norm(s{0}, scale=@ones)\n", i,
        last);
    last = fmt::format("v{}", i);
  }
  Model network = with_noise(text + body + fmt::format("  return y = {}\n}}\n", last));
  std::ranges::fill(network.tensors.at("ones").data<float>(), 1.0F);
  return network;
}

TEST(Growth, InspectByOperations) {
  for (const char* op : {"relu({})", "neg({})", "add(a={}, b=@number)", "mul(a={}, b=@number)", "mul(a={}, b=@row)",
                         "add(a={}, b=x)", "mul(a={}, b=x)", "sub(a=x, b={})", "clip(x={}, lowest=@number)",
                         "softmax({})", "layer_norm({}, scale=@row)"}) {
    expect_linear(
        500, [op](int64_t size) { return [network = chain(size, op)] { inspect(network); }; }, op);
  }
}

TEST(Growth, InspectByResiduals) {
  expect_linear(500, [](int64_t size) { return [network = residuals(size)] { inspect(network); }; });
}

TEST(Growth, InspectByLiveValues) {
  expect_linear(1000, [](int64_t size) { return [network = at_once(size)] { inspect(network); }; });
}

/// Lists everything that prevents a network from running on a platform: tries quantizers, gradients and conversion.
std::function<void()> inspecting_for(const Model& network) {
  return [network] { inspect(network, {{}, Target{quant::load_platform("generic_int8")}}); };
}

TEST(Growth, InspectForAPlatform) {
  expect_linear(
      200, [](int64_t size) { return inspecting_for(layers(size)); }, "layers");
  expect_linear(
      100, [](int64_t size) { return inspecting_for(branches(size)); }, "branches");
  expect_linear(
      200, [](int64_t size) { return inspecting_for(outputs(size)); }, "outputs");
}

TEST(Growth, QuantizeBySamples) {
  expect_linear(64, [](int64_t size) { return quantizing(layers(4), size); });
}

/// A dimension in which networks grow.
struct Axis {
  const char* name;
  int64_t size;
  Model (*network)(int64_t size);
};

constexpr Axis kAxes[] = {
    {"layers", 50, layers}, {"branches", 50, branches}, {"channels", 64, channels}, {"image size", 32, image}};

void expect_linear(const std::string& verb_name, const Verb& verb) {
  for (const Axis& axis : kAxes) {
    const auto what = fmt::format("{} by {}", verb_name, axis.name);
    expect_linear(
        axis.size, [&](int64_t size) { return working(axis.network(size), verb); }, what.c_str());
  }
}

TEST(Growth, Quantize) {
  for (const Axis& axis : kAxes)
    expect_linear(
        axis.size, [&](int64_t size) { return quantizing(axis.network(size)); }, axis.name);
}

TEST(Growth, ProgramVerbs) {
  expect_linear("convert", [](const Model& prepared, const Model&, const Dataset&) { convert(prepared); });
  expect_linear("run", [](const Model& prepared, const Model& integer, const Dataset&) {
    Dims dims = prepared.graph.arguments().front().dims();
    dims[0] = 8;
    run(integer, {{"x", noise(dims, 1)}}, {}, one_thread());
  });
  expect_linear("verify", [](const Model& prepared, const Model& integer, const Dataset& data) {
    EXPECT_TRUE(verify(prepared, integer, data, {}, one_thread()).equal());
  });
}

TEST(Growth, Train) {
  expect_linear("train", [](const Model& prepared, const Model&, const Dataset& data) {
    TrainOptions options;
    options.epochs = 1;
    train(prepared, data, options, one_thread());
  });
}

TEST(Growth, VerbsThatWrite) {
  const test::TemporaryFolder folder;
  expect_linear("export", [&](const Model& prepared, const Model&, const Dataset&) {
    export_onnx(prepared, folder / "y.onnx", {.format = ExportFormat::float_});
  });
  expect_linear("export --format c", [&](const Model&, const Model& integer, const Dataset&) {
    export_c(integer, folder / "c", {.overwrite = true});
  });
  expect_linear("dump", [&](const Model&, const Model& integer, const Dataset& data) {
    const DumpOptions options;
    dump(integer, data, {folder / "values", true}, options, one_thread());
  });
}

/// Each try runs everything behind its quantizer: docs/guides/find_sensitive_layers.md. Memory grows with the layers
/// only.
TEST(Growth, TriesByLayers) {
  const auto analyzing = [](const Model& prepared, const Model&, const Dataset& data) {
    analyze(prepared, data, {}, one_thread());
  };
  const auto choosing = [](const Model& prepared, const Model&, const Dataset& data) {
    BitsOptions options;
    options.allocation.budgets = {{allocation::Currency::size, 1e9}};
    bits(prepared, data, options, one_thread());
  };
  for (const auto& [name, verb] : {std::pair<const char*, Verb>{"analyze", analyzing}, {"bits", choosing}}) {
    const auto prepare = [&](int64_t size) { return working(layers(size), verb); };
    EXPECT_LE(exponents_of(12, prepare, name).peak, kMostExponent) << name;
  }
}

}  // namespace
}  // namespace halfstep::api
