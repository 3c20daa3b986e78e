#include "halfstep/engine/kernels/common/onednn.h"

#include <fmt/format.h>

#include <algorithm>
#include <dnnl.hpp>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <utility>

#include "halfstep/core/base/tensor.h"

// oneDNN splits work among this many threads of libgomp. Each thread has its own setting. Declared here, because not
// every compiler that builds Halfstep has an omp.h.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads(void);
}

namespace halfstep::kernels::onednn {
namespace {

using dnnl::memory;

/// Keeps oneDNN on this thread. Afterwards the caller's OpenMP setting is restored.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

dnnl::cpu_isa isa_of(CpuLevel level) {
  switch (level) {
    case CpuLevel::scalar: return dnnl::cpu_isa::sse41;
    case CpuLevel::avx2: return dnnl::cpu_isa::avx2;
    case CpuLevel::avx512: return dnnl::cpu_isa::avx512_core;
    case CpuLevel::vnni: return dnnl::cpu_isa::avx512_core_vnni;
    // oneDNN configures tiles from CPUID and faults if CPUID does not describe them.
    case CpuLevel::amx: return cpu_describes_tiles() ? dnnl::cpu_isa::avx512_core_amx : dnnl::cpu_isa::avx512_core_vnni;
  }
  return dnnl::cpu_isa::sse41;
}

/// False if the process used oneDNN at another level before Halfstep did.
bool capped() {
  static const bool kDone = [] {
    const dnnl::cpu_isa isa = isa_of(cpu_level());
    return dnnl::set_max_cpu_isa(isa) == dnnl::status::success || dnnl::get_effective_cpu_isa() == isa;
  }();
  return kDone;
}

const dnnl::engine& engine() {
  static const dnnl::engine kCpu(dnnl::engine::kind::cpu, 0);
  return kCpu;
}

dnnl::stream& stream() {
  static thread_local dnnl::stream own(engine());
  return own;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // a primitive with its own scratchpad serves only one thread
  return attr;
}

memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return memory::data_type::f32;
    case DType::i32: return memory::data_type::s32;
    case DType::i8: return memory::data_type::s8;
    case DType::u8: return memory::data_type::u8;
    default: break;
  }
  HS_CHECK(false && "an element type that is not given to oneDNN");
  return memory::data_type::undef;
}

/// Cuts the worker scratch into areas.
class Areas {
 public:
  size_t add(size_t bytes) { return std::exchange(size_, size_ + aligned(bytes)); }
  size_t size() const { return size_; }

 private:
  size_t size_ = 0;
};

using Arguments = std::unordered_map<int, memory>;

void execute(const dnnl::primitive& primitive, Arguments arguments, const memory::desc& scratchpad,
             std::byte* scratch) {
  if (scratchpad.get_size() != 0) arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad, engine(), scratch));
  primitive.execute(stream(), arguments);
}

/// Runs `body` on this thread only and returns exceptions as a Status, because kernels throw nothing.
template <class Body>
Status guarded(Body&& body) {
  const OneThread alone;
  try {
    body();
  } catch (const dnnl::error& error) {
    return Status(errors::onednn_failed(error.message));
  } catch (const std::bad_alloc&) {
    return Status(errors::out_of_memory());
  }
  return {};
}

[[noreturn]] void no_primitive(const char* what, const dnnl::error& error) {
  fail(errors::defect("oneDNN", fmt::format("it has no {}: {}", what, error.message)));
}

/// A tensor in the caller's layout and in the primitive's layout.
struct Operand {
  memory::desc plain, inner;
  dnnl::reorder reorder;
  memory::desc reorder_scratchpad;
  bool moved = false;  ///< the layouts differ
  size_t area = 0;     ///< area of the primitive's layout in worker scratch

  Operand() = default;
  Operand(memory::desc outside, memory::desc inside, bool result)
      : plain(std::move(outside)), inner(std::move(inside)), moved(plain != inner) {
    if (!moved) return;
    const dnnl::reorder::primitive_desc desc(engine(), result ? inner : plain, engine(), result ? plain : inner,
                                             attributes());
    reorder = dnnl::reorder(desc);
    reorder_scratchpad = desc.scratchpad_desc();
  }

  size_t inner_bytes() const { return moved ? inner.get_size() : 0; }

  void move(const memory& from, const memory& to, std::byte* scratch) const {
    execute(reorder, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, reorder_scratchpad, scratch);
  }
  memory outside(const void* data) const { return {plain, engine(), const_cast<void*>(data)}; }
  memory inside(const void* data) const { return {inner, engine(), const_cast<void*>(data)}; }
  /// An input in the layout of the primitive.
  memory enter(const void* data, std::byte* scratch, size_t scratchpad) const {
    if (!moved) return outside(data);
    memory ours = inside(scratch + area);
    move(outside(data), ours, scratch + scratchpad);
    return ours;
  }
  /// Memory to which the primitive writes a result.
  memory destination(void* data, std::byte* scratch) const { return moved ? inside(scratch + area) : outside(data); }
  void leave(const memory& ours, void* data, std::byte* scratch, size_t scratchpad) const {
    if (moved) move(ours, outside(data), scratch + scratchpad);
  }
};

}  // namespace

Verdict accept_level(const Problem& problem) {
  if (problem.level == CpuLevel::scalar) return refuse(errors::kernel_is_for_other_levels("scalar", "avx2 or higher"));
  if (problem.level != cpu_level())
    return refuse(errors::kernel_is_for_other_levels(
        name(problem.level), fmt::format("{}, the level of oneDNN in this process", name(cpu_level()))));
  if (!capped())
    return refuse(
        errors::kernel_is_for_other_levels(name(problem.level), "a level that was set before the first use of oneDNN"));
  return accept();
}

Verdict accept_f32(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_level(problem); !verdict) return verdict;
  for (const auto& types : {problem.in, problem.out}) {
    for (const Type* type : types) {
      if (type == nullptr) continue;
      if (type->dtype != DType::f32)
        return refuse(errors::kernel_takes_other_types("an operand", name(type->dtype), "f32"));
      if (count_elements(type->dims) == 0) return refuse(errors::kernel_takes_no_empty_operand("an operand"));
    }
  }
  return accept();
}

namespace {

/// Descriptions of a convolution's tensors: plain layouts, layouts that oneDNN may choose, and extents in oneDNN's
/// order.
struct ConvTerms {
  memory::desc x, weights, out, any_x, any_weights, any_out, bias;
  memory::dims stride, dilation, pad_begin, pad_end;

  explicit ConvTerms(const Convolution::Spec& spec) {
    const ConvGeometry& g = spec.geometry;
    const ConvGeometry::Depth& d = g.depth;
    const memory::dims x_dims = extents({g.n, g.c}, g, {d.x, g.h, g.w});
    const memory::dims out_dims = extents({g.n, g.o}, g, {d.out, g.oh, g.ow});
    const int64_t i = g.group_in(), o = g.group_out();
    // With one image the step to the next image has no effect. The dense step makes equal layouts compare equal.
    x = image_tensor(x_dims, spec.x, g.n == 1 ? g.x_image() : spec.x_image, spec.x_channels_last);
    out = image_tensor(out_dims, spec.out, g.n == 1 ? g.out_image() : spec.out_image, spec.out_channels_last);
    const memory::dims kernel{d.kernel, g.kh, g.kw}, taps{g.kh * g.kw, g.kw, 1};
    const bool grouped = g.groups > 1;
    const memory::dims filters = extents(grouped ? memory::dims{g.groups, o, i} : memory::dims{o, i}, g, kernel);
    weights = {
        filters, data_type(spec.weights),
        extents(grouped ? memory::dims{o * spec.filter, spec.filter, g.taps()} : memory::dims{spec.filter, g.taps()}, g,
                taps)};
    any_x = {x_dims, data_type(spec.x), memory::format_tag::any};
    any_out = {out_dims, data_type(spec.out), memory::format_tag::any};
    any_weights = {filters, data_type(spec.weights), memory::format_tag::any};
    if (spec.bias) bias = {{g.o}, memory::data_type::f32, memory::format_tag::a};
    stride = extents({}, g, {d.stride, g.stride[0], g.stride[1]});
    dilation = extents({}, g, {d.dilation - 1, g.dilation[0] - 1, g.dilation[1] - 1});
    pad_begin = extents({}, g, {d.before, g.pad[0], g.pad[1]});
    pad_end = extents({}, g, {d.after, g.pad[2], g.pad[3]});
  }

  /// `first`, followed by the numbers of the spatial axes. The depth is left out if it is one element without padding.
  static memory::dims extents(memory::dims first, const ConvGeometry& g, const memory::dims& spatial) {
    const ConvGeometry::Depth& d = g.depth;
    const bool has_depth = d.x > 1 || d.kernel > 1 || d.out > 1 || d.before > 0;
    first.insert(first.end(), spatial.begin() + (has_depth ? 0 : 1), spatial.end());
    return first;
  }

  /// [n, c, ...], stored in this order or channels-last.
  static memory::desc image_tensor(const memory::dims& dims, DType dtype, int64_t image, bool channels_last) {
    memory::dims strides(dims.size());
    int64_t step = channels_last ? dims[1] : 1;
    for (size_t axis = dims.size() - 1; axis >= 2; step *= dims[axis--]) strides[axis] = step;
    strides[1] = channels_last ? 1 : step;
    strides[0] = image;
    return {dims, data_type(dtype), strides};
  }

  dnnl::convolution_forward::primitive_desc forward() const {
    using Forward = dnnl::convolution_forward;
    const auto kind = dnnl::prop_kind::forward_training;
    const auto direct = dnnl::algorithm::convolution_direct;
    const Forward::desc desc =
        bias.is_zero()
            ? Forward::desc(kind, direct, any_x, any_weights, any_out, stride, dilation, pad_begin, pad_end)
            : Forward::desc(kind, direct, any_x, any_weights, bias, any_out, stride, dilation, pad_begin, pad_end);
    return {desc, attributes(), engine()};
  }

  /// The descriptor of backward_data or backward_weights. Both take the same arguments.
  template <class Backward>
  typename Backward::primitive_desc backward() const {
    const typename Backward::desc desc(dnnl::algorithm::convolution_direct, any_x, any_weights, any_out, stride,
                                       dilation, pad_begin, pad_end);
    return {desc, attributes(), engine(), forward()};
  }
};

}  // namespace

struct Convolution::Parts {
  Operand x, weights, out;
  memory::desc bias;
  dnnl::primitive primitive;
  memory::desc scratchpad;
  size_t scratchpad_area = 0;
  size_t scratch = 0;

  explicit Parts(const Spec& spec) {
    const ConvTerms terms(spec);
    bias = terms.bias;
    switch (spec.pass) {
      case Pass::forward: build_forward(terms); break;
      case Pass::grad_x: build_grad_x(terms); break;
      case Pass::grad_w: build_grad_w(terms); break;
    }
    Areas areas;
    x.area = areas.add(x.inner_bytes());
    out.area = areas.add(out.inner_bytes());
    if (spec.pass == Pass::grad_w) weights.area = areas.add(weights.inner_bytes());
    scratchpad_area = areas.add(std::max({scratchpad.get_size(), x.reorder_scratchpad.get_size(),
                                          weights.reorder_scratchpad.get_size(), out.reorder_scratchpad.get_size()}));
    scratch = areas.size();
  }

  void build_forward(const ConvTerms& terms) {
    const auto desc = terms.forward();
    x = {terms.x, desc.src_desc(), false};
    weights = {terms.weights, desc.weights_desc(), false};
    out = {terms.out, desc.dst_desc(), true};
    primitive = dnnl::convolution_forward(desc);
    scratchpad = desc.scratchpad_desc();
  }

  void build_grad_x(const ConvTerms& terms) {
    const auto desc = terms.backward<dnnl::convolution_backward_data>();
    x = {terms.x, desc.diff_src_desc(), true};
    weights = {terms.weights, desc.weights_desc(), false};
    out = {terms.out, desc.diff_dst_desc(), false};
    primitive = dnnl::convolution_backward_data(desc);
    scratchpad = desc.scratchpad_desc();
  }

  void build_grad_w(const ConvTerms& terms) {
    const auto desc = terms.backward<dnnl::convolution_backward_weights>();
    x = {terms.x, desc.src_desc(), false};
    weights = {terms.weights, desc.diff_weights_desc(), true};
    out = {terms.out, desc.diff_dst_desc(), false};
    primitive = dnnl::convolution_backward_weights(desc);
    scratchpad = desc.scratchpad_desc();
  }
};

Convolution::Convolution(const Spec& spec) {
  const OneThread alone;
  try {
    parts_ = std::make_shared<Parts>(spec);
  } catch (const dnnl::error& error) {
    no_primitive("such convolution", error);
  }
}

size_t Convolution::packed_bytes() const { return parts_->weights.inner_bytes(); }
size_t Convolution::scratch() const { return parts_->scratch; }

Status Convolution::pack(const void* weights, void* packed, std::byte* scratch) const {
  const Parts& p = *parts_;
  return guarded(
      [&] { p.weights.move(p.weights.outside(weights), p.weights.inside(packed), scratch + p.scratchpad_area); });
}

Status Convolution::forward(const void* x, const void* weights, const float* bias, void* out,
                            std::byte* scratch) const {
  const Parts& p = *parts_;
  return guarded([&] {
    const memory to = p.out.destination(out, scratch);
    Arguments arguments{{DNNL_ARG_SRC, p.x.enter(x, scratch, p.scratchpad_area)},
                        {DNNL_ARG_WEIGHTS, p.weights.inside(weights)},
                        {DNNL_ARG_DST, to}};
    if (!p.bias.is_zero()) arguments.emplace(DNNL_ARG_BIAS, memory(p.bias, engine(), const_cast<float*>(bias)));
    execute(p.primitive, std::move(arguments), p.scratchpad, scratch + p.scratchpad_area);
    p.out.leave(to, out, scratch, p.scratchpad_area);
  });
}

Status Convolution::grad_x(const void* out_grad, const void* weights, void* x_grad, std::byte* scratch) const {
  const Parts& p = *parts_;
  return guarded([&] {
    const memory to = p.x.destination(x_grad, scratch);
    execute(p.primitive,
            {{DNNL_ARG_DIFF_DST, p.out.enter(out_grad, scratch, p.scratchpad_area)},
             {DNNL_ARG_WEIGHTS, p.weights.inside(weights)},
             {DNNL_ARG_DIFF_SRC, to}},
            p.scratchpad, scratch + p.scratchpad_area);
    p.x.leave(to, x_grad, scratch, p.scratchpad_area);
  });
}

Status Convolution::grad_w(const void* x, const void* out_grad, void* weights_grad, std::byte* scratch) const {
  const Parts& p = *parts_;
  return guarded([&] {
    const memory to = p.weights.destination(weights_grad, scratch);
    execute(p.primitive,
            {{DNNL_ARG_SRC, p.x.enter(x, scratch, p.scratchpad_area)},
             {DNNL_ARG_DIFF_DST, p.out.enter(out_grad, scratch, p.scratchpad_area)},
             {DNNL_ARG_DIFF_WEIGHTS, to}},
            p.scratchpad, scratch + p.scratchpad_area);
    p.weights.leave(to, weights_grad, scratch, p.scratchpad_area);
  });
}

struct Matmul::Parts {
  memory::desc a, c, bias;
  Operand b;
  dnnl::matmul primitive;
  memory::desc scratchpad;
  size_t scratch = 0;

  explicit Parts(const Spec& spec)
      : a({spec.m, spec.k}, data_type(spec.a), memory::dims{spec.a_row, spec.a_column}),
        c({spec.m, spec.n}, data_type(spec.c), memory::dims{spec.c_row, 1}) {
    const memory::dims b_dims{spec.k, spec.n};
    const memory::desc plain_b(b_dims, data_type(spec.b), memory::dims{spec.b_row, spec.b_column});
    const memory::desc any_b(b_dims, data_type(spec.b), memory::format_tag::any);
    if (spec.bias) bias = {{1, spec.n}, memory::data_type::f32, memory::format_tag::ab};
    const memory::desc& asked_b = spec.pack_b ? any_b : plain_b;
    const auto desc = spec.bias ? dnnl::matmul::desc(a, asked_b, bias, c) : dnnl::matmul::desc(a, asked_b, c);
    const dnnl::matmul::primitive_desc chosen(desc, attributes(), engine());
    b = {plain_b, chosen.weights_desc(), false};
    primitive = dnnl::matmul(chosen);
    scratchpad = chosen.scratchpad_desc();
    scratch = aligned(std::max(scratchpad.get_size(), b.reorder_scratchpad.get_size()));
  }
};

Matmul::Matmul(const Spec& spec) {
  const OneThread alone;
  try {
    parts_ = std::make_shared<Parts>(spec);
  } catch (const dnnl::error& error) {
    no_primitive("such matrix product", error);
  }
}

size_t Matmul::packed_bytes() const { return parts_->b.inner_bytes(); }
size_t Matmul::scratch() const { return parts_->scratch; }

Status Matmul::pack(const void* b, void* packed, std::byte* scratch) const {
  const Parts& p = *parts_;
  return guarded([&] { p.b.move(p.b.outside(b), p.b.inside(packed), scratch); });
}

Status Matmul::multiply(const void* a, const void* b, const float* bias, void* c, std::byte* scratch) const {
  const Parts& p = *parts_;
  return guarded([&] {
    Arguments arguments{{DNNL_ARG_SRC, memory(p.a, engine(), const_cast<void*>(a))},
                        {DNNL_ARG_WEIGHTS, p.b.inside(b)},
                        {DNNL_ARG_DST, memory(p.c, engine(), c)}};
    if (!p.bias.is_zero()) arguments.emplace(DNNL_ARG_BIAS, memory(p.bias, engine(), const_cast<float*>(bias)));
    execute(p.primitive, std::move(arguments), p.scratchpad, scratch);
  });
}

}  // namespace halfstep::kernels::onednn
