// Integer layers in the layout of fast kernels: convolutions on channels-last images.
#pragma once

#include "tests/kernels/layer_cases.h"

namespace halfstep::kernels {

/// [n, c, h, w] as [n, h, w, c].
inline Dims last_dims(const Dims& dims) { return {dims[0], dims[2], dims[3], dims[1]}; }

inline Tensor channels_last_of(const Tensor& images) {
  const KernelCase use{"transpose",
                       {{"perm", std::vector<int64_t>{0, 2, 3, 1}}},
                       {images},
                       {Type{images.type().dtype, last_dims(images.dims())}}};
  return run_kernel(reference_transpose, use, CpuLevel::scalar)[0];
}

inline KernelCase channels_last_of(KernelCase use) {
  use.attributes.insert_or_assign("layout", std::string("channels_last"));
  use.in[0] = channels_last_of(use.in[0]);
  use.out[0]->dims = last_dims(use.out[0]->dims);
  return use;
}

/// Runs each candidate that accepts the case at each level, with and without constant parameters. Returns their number.
inline int expect_all_agree(KernelCase use, const Tensor& want, std::initializer_list<const Kernel*> candidates) {
  int runs = 0;
  for (const bool constant : {false, true}) {
    use.constants.clear();
    for (int i = 1; constant && i < static_cast<int>(use.in.size()); ++i) {
      if (use.in[i].defined()) use.constants.push_back(i);
    }
    for (const Kernel* kernel : candidates) {
      for (const CpuLevel level : available_cpu_levels()) {
        if (!verdict_of(*kernel, use, level)) continue;
        ++runs;
        EXPECT_TRUE(same_bits(want, run_kernel(*kernel, use, level, PieceOrder::shuffled)[0]))
            << kernel->name << " at " << name(level) << (constant ? ", constant" : "");
      }
    }
  }
  return runs;
}

/// Like expect_all_agree, for integer_linear, or for integer_conv2d in the other layout, whose reference must agree
/// too.
inline int expect_layers_agree(const KernelCase& use, const Tensor& want) {
  if (use.op == "integer_linear")
    return expect_all_agree(use, want, {&cpu_integer_linear_amx, &cpu_integer_linear_tiles});
  const KernelCase last = channels_last_of(use);
  const Tensor codes = channels_last_of(want);
  EXPECT_TRUE(same_bits(codes, run_kernel(reference_integer_conv2d, last, CpuLevel::scalar)[0]));
  return expect_all_agree(last, codes,
                          {&cpu_integer_conv2d_depthwise, &cpu_integer_conv2d_amx, &cpu_integer_conv2d_tiles});
}
inline int expect_layers_agree(const KernelCase& use) {
  const Kernel& reference = use.op == "integer_linear" ? reference_integer_linear : reference_integer_conv2d;
  return expect_layers_agree(use, run_kernel(reference, use, CpuLevel::scalar)[0]);
}

}  // namespace halfstep::kernels
