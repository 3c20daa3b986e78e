// quantized_linear in tiles of the integer program's products, a block of rows at a time.
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/integer/cpu/code_matmul.h"
#include "halfstep/engine/kernels/codes/training/cpu/layer.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace training {
namespace {

using integer::CodeMatmul;

/// Multiplies codes and weights unchanged. The Step adds the contribution of the zero point of x.
class TilesAccumulator final : public Accumulator {
 public:
  explicit TilesAccumulator(const CodeMatmul& matmul) : matmul_(matmul) {}

  size_t shared_bytes() const override { return static_cast<size_t>(matmul_.b_bytes()); }
  size_t worker_bytes() const override { return static_cast<size_t>(matmul_.a_bytes()); }
  bool raw_codes() const override { return true; }
  bool channels_last() const override { return false; }

  Status pack(const int8_t* weights, const Workspace& workspace) const override {
    matmul_.pack_b({}, weights, workspace.shared);
    return {};
  }

  Status accumulate(const AccumulateCall& call, int64_t piece, const Workspace& workspace,
                    int32_t* tile) const override {
    const int64_t columns = matmul_.product().columns;
    matmul_.pack_a({}, call.x, piece, workspace.worker);
    matmul_.multiply({}, workspace.worker, workspace.shared, piece,
                     [&](const integer::SumsTile& sums) { sums.copy_to(tile, columns); });
    return {};
  }

 private:
  CodeMatmul matmul_;
};

Verdict accept_linear(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (problem.level >= CpuLevel::amx)
    return refuse(
        errors::kernel_is_for_other_levels(name(problem.level), "a level below amx, where oneDNN multiplies tiles"));
  const Layer layer(problem);
  if (is_wide(layer.x)) return refuse(errors::kernel_takes_other_types("x", name(layer.x), "codes of one byte"));
  if (layer.is_empty()) return refuse(errors::kernel_takes_no_empty_operand("an operand"));
  return accept();
}

Plan prepare_linear(const Problem& problem) {
  const Layer layer(problem);
  const ConvGeometry& g = layer.geometry;
  const CodeMatmul matmul(Contraction::of_layer(g.n, g.c, g.o), layer.x, DType::i8, problem.level);
  return prepare_layer(problem, layer, Cut(layer, matmul.rows(0)), std::make_unique<TilesAccumulator>(matmul));
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_linear_tiles{"tiles", training::accept_linear, training::prepare_linear,
                                               training::run_layer};

}  // namespace halfstep::kernels
