// Fast kernels whose operands and results lie beside inaccessible memory, once before it and once behind it. A kernel
// whose vectors are wider than the rest of an operand crashes the test when it reads or writes outside.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/kernels/elementwise_cases.h"

namespace halfstep::kernels {
namespace {

enum class Fence { before, behind };

/// Memory of `size` bytes beside an inaccessible page: it begins directly behind one, or ends as closely before one as
/// `alignment` permits.
class Fenced {
 public:
  Fenced(size_t size, Fence fence, size_t alignment) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t inside = (size + page - 1) / page * page;
    bytes_ = inside + 2 * page;
    pages_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED) throw std::bad_alloc();
    if (inside > 0 && mprotect(pages_ + page, inside, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    data_ = pages_ + page + (fence == Fence::behind ? (inside - size) / alignment * alignment : 0);
  }
  Fenced(Fenced&& other) noexcept : pages_(other.pages_), data_(other.data_), bytes_(other.bytes_) {
    other.pages_ = nullptr;
  }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;
  ~Fenced() {
    if (pages_ != nullptr) munmap(pages_, bytes_);
  }
  std::byte* data() const { return data_; }

 private:
  std::byte *pages_, *data_;
  size_t bytes_;
};

/// Operands, results and scratch of a kernel call.
struct FencedCall {
  FencedCall(const KernelCase& use, Fence fence) {
    for (const Tensor& tensor : use.in) {
      const bool present = tensor.defined();
      memory.emplace_back(present ? tensor.bytes() : 0, fence, present ? size_of(tensor.dtype()) : 1);
      if (present) std::memcpy(memory.back().data(), tensor.raw(), tensor.bytes());
      in.push_back({present ? memory.back().data() : nullptr, present ? tensor.dtype() : DType::f32,
                    present ? std::span<const int64_t>(tensor.dims()) : std::span<const int64_t>()});
      in_types.push_back(present ? &tensor.type() : nullptr);
    }
    for (const auto& type : use.out) {
      results.emplace_back(type ? Tensor(type->dtype, type->dims) : Tensor());
      memory.emplace_back(type ? results.back().bytes() : 0, fence, kAlignment);
      out.push_back({type ? memory.back().data() : nullptr, type ? type->dtype : DType::f32,
                     type ? std::span<const int64_t>(type->dims) : std::span<const int64_t>()});
      out_types.push_back(type ? &*type : nullptr);
    }
  }
  /// Makes every operand except the first constant, or none.
  std::vector<const Tensor*> constants(bool constant) {
    std::vector<const Tensor*> all(in.size(), nullptr);
    for (size_t i = 1; constant && i < in.size(); ++i) {
      if (in_types[i] == nullptr) continue;
      fenced[i] = Tensor::over({std::shared_ptr<std::byte>(), memory[i].data()}, *in_types[i]);
      all[i] = &fenced[i];
    }
    return all;
  }
  std::vector<Tensor> take_results() {
    for (size_t port = 0; port < out.size(); ++port) {
      if (results[port].defined()) std::memcpy(results[port].raw(), out[port].data, results[port].bytes());
    }
    return std::move(results);
  }

  std::vector<Fenced> memory;
  std::map<size_t, Tensor> fenced;  ///< constants, as views of `memory`
  std::vector<ConstView> in;
  std::vector<View> out;
  std::vector<const Type*> in_types, out_types;
  std::vector<Tensor> results;
};

/// Returns undefined tensors where the kernel refuses the case.
std::vector<Tensor> run_fenced(const Kernel& kernel, const KernelCase& use, CpuLevel level, Fence fence,
                               bool constant) {
  const FloatEnvironment environment;
  FencedCall operands(use, fence);
  const std::vector<const Tensor*> constants = operands.constants(constant);
  const Problem problem{use.op, use.attributes, operands.in_types, operands.out_types, constants, level};
  if (!kernel.accept(problem)) return {};
  const Plan plan = kernel.prepare(problem);
  for (const size_t packed : plan.packed) operands.in[packed].data = nullptr;
  const Fenced scratch(plan.scratch, fence, kAlignment), worker_scratch(plan.worker_scratch, fence, kAlignment);
  for (size_t phase = 0; phase < plan.phases.size(); ++phase) {
    for (int64_t piece = 0; piece < plan.phases[phase]; ++piece) {
      const Call call{plan.state.get(), operands.in, operands.out, scratch.data(), worker_scratch.data()};
      const Status status = kernel.run(call, static_cast<int>(phase), piece);
      EXPECT_TRUE(status.ok()) << use.op << "/" << kernel.name << ": " << status.message();
    }
  }
  return operands.take_results();
}

/// Runs every candidate for the CPU at every level. A tolerance is for sums of floats, whose order depends on the
/// kernel.
void expect_within_fences(const KernelCase& use, double tolerance = 0) {
  const std::vector<Tensor> want = run_kernel(*reference_kernel(use.op), use, CpuLevel::scalar);
  for (const Kernel* kernel : cpu_kernels(use.op)) {
    for (const CpuLevel level : available_cpu_levels()) {
      for (const Fence fence : {Fence::before, Fence::behind}) {
        for (const bool constant : {false, true}) {
          const std::vector<Tensor> got = run_fenced(*kernel, use, level, fence, constant);
          for (size_t port = 0; port < got.size(); ++port) {
            const bool bitwise = tolerance == 0 || want[port].dtype() != DType::f32;
            EXPECT_TRUE(bitwise ? same_bits(want[port], got[port])
                                : harness::close_to(want[port], got[port], tolerance))
                << use.op << "/" << kernel->name << " at " << name(level) << ", output " << port;
          }
        }
      }
    }
  }
}

/// [n, c, h, w] as [n, h, w, c]. The position of single codes does not matter here.
KernelCase channels_last(KernelCase use) {
  const auto last = [](const Dims& dims) { return Dims{dims[0], dims[2], dims[3], dims[1]}; };
  use.attributes.insert_or_assign("layout", std::string("channels_last"));
  use.in[0] = use.in[0].reshaped(last(use.in[0].dims()));
  use.out[0]->dims = last(use.out[0]->dims);
  return use;
}

/// An empty batch, and filters without taps, whose results come from the bias alone.
TEST(fenced, empty_operands) {
  for (const int64_t groups : {1, 8}) {
    const LayerCase none({.n = 0, .c = 8, .h = 3, .w = 4, .o = 8, .groups = groups}, {});
    expect_within_fences(none.quantized());
    expect_within_fences(none.integer());
    expect_within_fences(channels_last(none.integer()));
    LayerCase tapless({.n = 2, .c = 8, .h = 3, .w = 4, .o = 8, .groups = groups, .pad = {0, 1, 0, 0}}, {});
    tapless.w = Tensor(DType::i8, {8, 8 / groups, 1, 0});
    expect_within_fences(tapless.quantized());
    expect_within_fences(tapless.integer());
    expect_within_fences(channels_last(tapless.integer()));
  }
  const CodesValue nothing(DType::u8, {0}, 255, 1);
  expect_within_fences(quantized_pair("quantized_add", nothing, nothing, {}));
}

/// Layers of odd extents: vectors of 16, 32 and 64 channels and tiles of pixels all end in the middle.
std::vector<LayerShape> shapes() {
  std::vector<LayerShape> all;
  int64_t count = 0;
  for (const int64_t c : {1, 3, 5, 17, 33, 65}) {
    for (int64_t w = 1; w <= 9; ++w) {
      for (const int64_t o : {1, 7, 33}) {
        const int64_t n = 1 + count % 2, step = 1 + count % 3 / 2;
        all.push_back({.n = n, .c = c, .h = 3, .w = w, .o = o, .stride = {step, step}});
        all.push_back({.n = n, .c = c, .h = 3, .w = w, .o = o, .kh = 2, .kw = std::min<int64_t>(w, 3)});
        if (++count % 3 == 0)
          all.push_back(
              {.n = n, .c = c, .h = 3, .w = w, .o = o, .kh = 3, .kw = 2, .dilation = {1, 2}, .pad = {1, 2, 0, 1}});
      }
      all.push_back({.c = c, .h = 3, .w = w, .o = c, .kh = 3, .kw = 3, .groups = c, .pad = {1, 1, 1, 1}});
      all.push_back({.n = 2, .c = c, .h = 5, .w = w, .o = c, .kh = 5, .kw = 1, .groups = c, .stride = {1, 2}});
      all.push_back({.c = 3 * c, .h = 2, .w = w, .o = 51, .kh = 2, .kw = 1, .groups = 3});
    }
  }
  return all;
}

TEST(fenced, memory_ends_where_it_says) {
  const Fenced begin(5, Fence::before, 1), end(5, Fence::behind, 1);
  begin.data()[0] = begin.data()[4] = end.data()[0] = end.data()[4] = std::byte{1};
  EXPECT_DEATH(*const_cast<volatile std::byte*>(begin.data() - 1) = std::byte{1}, "");
  EXPECT_DEATH(*const_cast<volatile std::byte*>(end.data() + 5) = std::byte{1}, "");
}

const std::vector<LayerRule> kRules = {{}, {.requantize = "float32"}};

// A0.1
TEST(fenced, channels_last_integer_layers) {
  size_t turn = 0;
  for (const LayerShape& shape : shapes()) {
    SCOPED_TRACE(shape.text());
    expect_within_fences(channels_last(LayerCase(shape, kRules[turn++ % kRules.size()]).integer()));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(fenced, channels_last_pools) {
  for (const int64_t c : {1, 3, 5, 17, 33, 65}) {
    for (int64_t w = 1; w <= 9; ++w) {
      const CodesValue x(DType::u8, {2, 3, w, c}, 255, 1);
      const int64_t columns = std::min<int64_t>(w, 2);
      const Attributes window = {{"kernel", std::vector<int64_t>{2, columns}},
                                 {"stride", std::vector<int64_t>{1, 1}},
                                 {"pad", std::vector<int64_t>{0, 0, 0, 0}}};
      const Type out{DType::u8, {2, 2, w - columns + 1, c}};
      expect_within_fences({"channels_last_max_pool2d", window, {x.codes}, {out}});
      Attributes average = CodesTarget().integer_attributes();
      average.merge(AverageCase{.kernel = {2, columns}}.attributes());
      average["x_zero_point"] = int64_t{7};
      average["multiplier"] = int64_t{1431655765};
      average["shift"] = int64_t{33};
      average["layout"] = std::string("channels_last");
      expect_within_fences({"integer_avg_pool2d", average, {x.codes}, {out}});
    }
  }
}

TEST(fenced, quantized_layers) {
  size_t turn = 0;
  for (const LayerShape& shape : shapes()) {
    if (turn++ % 7 != 0) continue;
    SCOPED_TRACE(shape.text());
    expect_within_fences(LayerCase(shape, kRules[turn % kRules.size()]).quantized());
    if (testing::Test::HasFailure()) return;
  }
  for (const int64_t c : {1, 3, 17, 65}) {
    for (const int64_t o : {1, 7, 33}) {
      const LayerCase product({.linear = true, .n = 3, .c = c, .o = o}, {});
      expect_within_fences(product.quantized());
      expect_within_fences(product.integer());
    }
  }
  // Planes that a kernel rearranges to pixels.
  expect_within_fences(
      LayerCase({.n = 2, .c = 16, .h = 5, .w = 7, .o = 33, .kh = 3, .kw = 3, .pad = {1, 0, 2, 1}}, {}).quantized());
}

Tensor numbers(DType dtype, const Dims& dims, float scale) {
  Tensor tensor(dtype, dims);
  Random random(5, static_cast<uint64_t>(dtype));
  if (dtype == DType::f32) {
    for (float& v : tensor.data<float>()) v = random.normal() * scale;
  } else {
    for (int32_t& v : tensor.data<int32_t>()) v = static_cast<int32_t>(random.normal() * scale);
  }
  return tensor;
}

// A0.1
TEST(fenced, sums_of_codes) {
  for (const int64_t size : {1, 3, 5, 17, 33, 65, 129}) {
    const CodesValue a(DType::u8, {size}, 255, 1), b(DType::u8, {size}, 255, 2);
    for (const bool is_test : {false, true}) expect_within_fences(quantized_pair("quantized_add", a, b, {}, is_test));
    KernelCase use{"integer_add", CodesTarget().integer_attributes(), {a.codes, b.codes}, {a.codes.type()}};
    for (const char* zero : {"a_zero_point", "b_zero_point"}) use.attributes[zero] = int64_t{7};
    for (const char* factor : {"a_multiplier", "b_multiplier"}) use.attributes[factor] = int64_t{1431655765};
    use.attributes["shift"] = int64_t{32};
    expect_within_fences(use);
  }
}

TEST(fenced, gradients_on_codes) {
  constexpr double kTolerance = 1e-6;
  for (const int64_t channels : {1, 3, 17}) {
    for (int64_t width = 1; width <= 9; ++width) {
      for (const double gradient_scale : {0.0, 0.5}) {
        const Dims dims = {2, channels, 3, width};
        const Tensor out_grad = numbers(DType::f32, dims, 1.0F), acc = numbers(DType::i32, dims, 400.0F);
        const std::vector<float> w_scale(static_cast<size_t>(channels), 0.5F);
        const Attributes rule = {{"activation", std::string("none")},
                                 {"alpha", 0.25},
                                 {"code_min", int64_t{0}},
                                 {"code_max", int64_t{255}},
                                 {"multiplier_bits", int64_t{31}},
                                 {"requantize", std::string("fixed_point")},
                                 {"shift_rounding", std::string("half_up")},
                                 {"gradient_scale", gradient_scale}};
        const std::vector<std::optional<Type>> results = {out_grad.type(), Type{DType::f32, {1}}};
        const Tensor scale = Tensor::scalar(0.5F), zero_point = Tensor::scalar(int32_t{100});
        expect_within_fences(
            {"requantize_grad", rule, {out_grad, acc, scale, LayerCase::floats(w_scale), scale, zero_point}, results},
            kTolerance);
        const Tensor real = numbers(DType::f32, dims, 60.0F);
        expect_within_fences({"dequantize_accumulator",
                              {{"activation", std::string("relu")}, {"alpha", 0.1}},
                              {acc, scale, LayerCase::floats(w_scale)},
                              {out_grad.type()}});
        expect_within_fences({"clamp_grad", rule, {out_grad, acc, real, scale, zero_point}, results}, kTolerance);
      }
    }
  }
}

}  // namespace
}  // namespace halfstep::kernels
