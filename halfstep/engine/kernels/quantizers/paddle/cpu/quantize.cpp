// Paddle's quantizers on vectors. All of them find the scale and then apply it.
//
// If a channel (or the tensor) fits into a piece, one pass over the pieces does both. The second read then comes from
// the cache. Otherwise one pass finds the largest magnitudes of blocks, a short pass combines them into scales, and a
// third applies these. Scales that are operands need only the last pass.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/paddle/cpu/quantize.cpp"
#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <cstring>
#include <memory>

#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/quantizers/paddle/cpu/rule-inl.h"
#include "halfstep/engine/kernels/quantizers/paddle/quantizer_use.h"

#ifndef HALFSTEP_KERNELS_PADDLE_CPU_QUANTIZE_ONCE
#define HALFSTEP_KERNELS_PADDLE_CPU_QUANTIZE_ONCE
namespace halfstep::kernels::paddle {

using elements::Walk;

/// Functions of one CPU level for elements of type T.
template <class T>
struct Functions {
  using C = Compute<T>;
  /// The largest magnitude that is not NaN, at least 0.
  C (*largest)(const T* src, int64_t size);
  bool (*has_nan)(const T* src, int64_t size);
  /// Raises largest[i] to the magnitude of src[i] and ignores NaN. Returns whether there was a NaN.
  bool (*raise)(const T* src, int64_t size, C* largest);
  void (*widen)(const T* src, int64_t size, C* dst);
  /// Quantizes the elements [begin, end).
  void (*apply)(const Walk& walk, C q, const C* multipliers, const C* scales, const T* src, T* dst, int64_t begin,
                int64_t end);
  void (*copy)(const T* src, T* dst, int64_t size, bool stream);
};

}  // namespace halfstep::kernels::paddle
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::paddle::HWY_NAMESPACE {

using simd::Part;
using simd::Whole;

template <class T>
using Tag = hn::ScalableTag<Compute<T>>;

template <class T>
Compute<T> largest(const T* src, int64_t size) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Largest<Tag<T>> largest;
  int64_t i = 0;
  for (; i + 4 * lanes <= size; i += 4 * lanes) {
    largest.template raise_by<0>(simd::load(d, src + i));
    largest.template raise_by<1>(simd::load(d, src + i + lanes));
    largest.template raise_by<2>(simd::load(d, src + i + 2 * lanes));
    largest.template raise_by<3>(simd::load(d, src + i + 3 * lanes));
  }
  for (; i + lanes <= size; i += lanes) largest.template raise_by<0>(simd::load(d, src + i));
  if (i < size) largest.template raise_by<1>(simd::load(d, src + i, Part{size - i}));
  return largest.value();
}

template <class T>
bool has_nan(const T* src, int64_t size) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto nan = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    const auto x = simd::load(d, src + i);
    nan = hn::IfThenElse(hn::IsNaN(x), x, nan);
  }
  if (i < size) {
    const auto x = simd::load(d, src + i, Part{size - i});
    nan = hn::IfThenElse(hn::IsNaN(x), x, nan);
  }
  return !hn::AllFalse(d, hn::IsNaN(nan));
}

template <class T>
bool raise_columns(const T* src, int64_t size, Compute<T>* largest) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto nan = hn::Zero(d);
  const auto raise_vector = [&](int64_t i, auto count) HWY_ATTR {
    const auto x = simd::load(d, src + i, count);
    simd::store(d, raise(simd::load(d, largest + i, count), x), largest + i, count);
    nan = hn::IfThenElse(hn::IsNaN(x), x, nan);
  };
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) raise_vector(i, Whole());
  if (i < size) raise_vector(i, Part{size - i});
  return !hn::AllFalse(d, hn::IsNaN(nan));
}

template <class T>
void widen(const T* src, int64_t size, Compute<T>* dst) {
  const Tag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(simd::load(d, src + i), d, dst + i);
  if (i < size) simd::store(d, simd::load(d, src + i, Part{size - i}), dst + i, Part{size - i});
}

template <class T, Rounding kRounding, bool kValues>
void apply(const Walk& walk, Compute<T> q, const Compute<T>* multipliers, const Compute<T>* scales, const T* src,
           T* dst, int64_t begin, int64_t end) {
  using Function = Quantize<Compute<T>, kRounding, kValues>;
  if constexpr (Function::kReadsScale) {
    simd::apply<Compute<T>, 2>(walk, Function{q}, {multipliers, scales}, begin, end, dst, src);
  } else {
    (void)scales;
    simd::apply<Compute<T>, 1>(walk, Function{q}, {multipliers}, begin, end, dst, src);
  }
}

template <class T>
auto choose_apply(Rounding rounding, bool values) {
  switch (rounding) {
    case Rounding::half_away:
      return values ? &apply<T, Rounding::half_away, true> : &apply<T, Rounding::half_away, false>;
    case Rounding::e5m2: return &apply<T, Rounding::e5m2, false>;
    case Rounding::e4m3: return &apply<T, Rounding::e4m3, false>;
    case Rounding::half_even: break;
  }
  return values ? &apply<T, Rounding::half_even, true> : &apply<T, Rounding::half_even, false>;
}

template <class T>
Functions<T> functions(const Quantizer& q) {
  return {&largest<T>,
          &has_nan<T>,
          &raise_columns<T>,
          &widen<T>,
          choose_apply<T>(q.rule.rounding, q.writes == Writes::values),
          &simd::copy<T>};
}

}  // namespace halfstep::kernels::paddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace paddle {
namespace {

/// Elements of a row that a search down columns covers at once. Their largest magnitudes stay in the first-level cache.
constexpr int64_t kStrip = 4096;
/// Runs from this length on are read one by one, although the channel's next run is far away in memory.
constexpr int64_t kLongColumn = 512;
/// Shorter runs are searched one element at a time.
constexpr int64_t kShortRun = 16;

enum class Step {
  whole,    ///< finds the scales of some channels, then quantizes their elements
  search,   ///< finds the largest magnitudes of a block
  combine,  ///< derives the scales of some channels from their blocks or from the operand
  apply
};

/// Cuts a tensor of short runs into strips of columns (whole runs), and these into blocks of rows. The largest
/// magnitude of column i in row block b is at b * period + i.
struct Columns {
  int64_t period = 0, strip = 0, rows = 0, strips = 0, row_blocks = 0;

  Columns() = default;
  explicit Columns(const Channels& channels) : period(channels.count * channels.run) {
    strip = std::min(period, std::max<int64_t>(1, kStrip / channels.run) * channels.run);
    rows = std::max<int64_t>(1, kPieceElements / strip);
    strips = ceil_div(period, strip);
    row_blocks = ceil_div(channels.outer, rows);
  }
};

struct Stage {
  Step step;
  int64_t pieces;
};

class Work {
 public:
  virtual ~Work() = default;
  virtual Status run(const Call& call, Stage stage, int64_t piece) const = 0;
  std::vector<Stage> stages;
};

template <class T>
class QuantizerWork final : public Work {
 public:
  using C = Compute<T>;

  QuantizerWork(const Quantizer& quantizer, const Functions<T>& functions)
      : q_(quantizer),
        top_(static_cast<C>(q_.rule.q)),
        f_(functions),
        walk_(q_.channels, q_.channels.size() * static_cast<int64_t>(sizeof(T))) {
    const Channels& channels = q_.channels;
    if (q_.from == ScaleFrom::given) {
      if (q_.writes != Writes::copy && channels.count > 1) add_combine(1);
      stages.push_back({Step::apply, walk_.pieces()});
    } else if (channels.outer == 1 && channels.run <= kPieceElements) {
      per_piece_ = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, channels.run));
      stages.push_back({Step::whole, ceil_div(channels.count, per_piece_)});
    } else {
      add_search();
      if (!copies_while_searching()) stages.push_back({Step::apply, walk_.pieces()});
    }
  }

  /// Layout: multipliers and scales by channel, then the largest magnitudes that a search finds.
  size_t scratch() const { return static_cast<size_t>(2 * q_.channels.count + partials_) * sizeof(C); }

  Status run(const Call& call, Stage stage, int64_t piece) const override {
    switch (stage.step) {
      case Step::whole: return whole(call, piece);
      case Step::search: search(call, piece); break;
      case Step::combine: return combine(call, piece);
      // Backwards, because the elements that the search read last are still in the cache.
      case Step::apply: apply_piece(call, stage.pieces - 1 - piece); break;
    }
    return {};
  }

 private:
  C* multipliers(const Call& call) const { return reinterpret_cast<C*>(call.scratch); }
  C* scales(const Call& call) const { return multipliers(call) + q_.channels.count; }
  C* partials(const Call& call) const { return scales(call) + q_.channels.count; }
  const T* src(const Call& call) const { return call.in[0].as<const T>(); }
  T* dst(const Call& call) const { return call.out[0].as<T>(); }

  bool copies_while_searching() const { return q_.writes == Writes::copy && q_.channels.count == 1; }

  void add_combine(int64_t partials_of_channel) {
    per_piece_ = std::max<int64_t>(1, kPieceElements / std::max<int64_t>(1, partials_of_channel));
    stages.push_back({Step::combine, std::max<int64_t>(1, ceil_div(q_.channels.count, per_piece_))});
  }

  void add_search() {
    const Channels& channels = q_.channels;
    if (channels.outer > 1 && channels.run < kLongColumn) {
      columns_ = Columns(channels);
      partials_ = columns_.row_blocks * columns_.period;
      stages.push_back({Step::search, columns_.strips * columns_.row_blocks});
      add_combine(columns_.row_blocks * channels.run);
    } else {
      blocks_ = Blocks(channels);
      partials_ = blocks_.count();
      stages.push_back({Step::search, blocks_.pieces()});
      add_combine(blocks_.per_channel());
    }
  }

  void search(const Call& call, int64_t piece) const {
    if (columns_.period > 0) return search_columns(call, piece);
    for (int64_t block = blocks_.piece_begin(piece); block < blocks_.piece_end(piece); ++block) {
      C largest = 0;
      blocks_.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t run_begin) {
        if (q_.passes_over_nan && f_.has_nan(src(call) + run_begin, 1)) return;
        largest = std::max(largest, copies_while_searching() ? copy_and_search(call, begin, size)
                                                             : f_.largest(src(call) + begin, size));
      });
      partials(call)[block] = largest;
    }
  }

  /// Works chunk by chunk, so that the second read comes from a near cache.
  C copy_and_search(const Call& call, int64_t begin, int64_t size) const {
    constexpr int64_t kChunk = 8192;
    C largest = 0;
    for (int64_t i = begin; i < begin + size; i += kChunk) {
      const int64_t count = std::min(kChunk, begin + size - i);
      largest = std::max(largest, f_.largest(src(call) + i, count));
      f_.copy(src(call) + i, dst(call) + i, count, walk_.stream);
    }
    return largest;
  }

  void search_columns(const Call& call, int64_t piece) const {
    const int64_t row_block = piece / columns_.strips;
    const int64_t column = piece % columns_.strips * columns_.strip;
    const int64_t size = std::min(columns_.strip, columns_.period - column);
    C* largest = partials(call) + row_block * columns_.period + column;
    std::fill_n(largest, size, C(0));
    const int64_t first = row_block * columns_.rows, last = std::min(q_.channels.outer, first + columns_.rows);
    bool has_nan = false;
    for (int64_t row = first; row < last; ++row)
      has_nan |= f_.raise(src(call) + row * columns_.period + column, size, largest);
    if (!has_nan || q_.channels.run == 1) return;
    // Repeats the search and skips the runs that start with NaN.
    std::fill_n(largest, size, C(0));
    for (int64_t row = first; row < last; ++row)
      raise_by_runs(src(call) + row * columns_.period + column, size, largest);
  }

  void raise_by_runs(const T* from, int64_t size, C* largest) const {
    for (int64_t i = 0; i < size; i += q_.channels.run) {
      if (!f_.has_nan(from + i, 1)) f_.raise(from + i, q_.channels.run, largest + i);
    }
  }

  C largest_of_partials(const Call& call, int64_t channel) const {
    const C* from = partials(call);
    C largest = 0;
    if (columns_.period == 0) {
      from += channel * blocks_.per_channel();
      for (int64_t i = 0; i < blocks_.per_channel(); ++i) largest = std::max(largest, from[i]);
      return largest;
    }
    from += channel * q_.channels.run;
    for (int64_t block = 0; block < columns_.row_blocks; ++block, from += columns_.period) {
      for (int64_t i = 0; i < q_.channels.run; ++i) largest = std::max(largest, from[i]);
    }
    return largest;
  }

  Status combine(const Call& call, int64_t piece) const {
    const int64_t end = std::min(q_.channels.count, (piece + 1) * per_piece_);
    for (int64_t c = piece * per_piece_; c < end; ++c) {
      if (q_.from != ScaleFrom::given) {
        C largest = largest_of_partials(call, c);
        if (!q_.passes_over_nan && f_.has_nan(src(call) + c * q_.channels.run, 1)) largest = C(NAN);
        if (Status status = take_largest(call, c, largest); !status.ok()) return status;
      }
      derive(call, c);
    }
    return {};
  }

  Status take_largest(const Call& call, int64_t channel, C largest) const {
    if (q_.from != ScaleFrom::largest) return paddle::step<T>(call, q_, largest);
    call.out[q_.out_scale].as<T>()[channel] = T(largest);
    return {};
  }

  void derive(const Call& call, int64_t channel) const {
    const auto scale = static_cast<C>(q_.scales<T>(call)[channel]);
    scales(call)[channel] = scale;
    multipliers(call)[channel] = multiplier_of(scale, top_);
  }

  Status whole(const Call& call, int64_t piece) const {
    const int64_t run = q_.channels.run;
    const int64_t first = piece * per_piece_, last = std::min(q_.channels.count, first + per_piece_);
    if (run < kShortRun) {
      if (Status status = search_short_runs(call, first, last); !status.ok()) return status;
    } else {
      for (int64_t c = first; c < last; ++c) {
        const T* from = src(call) + c * run;
        const C largest = f_.has_nan(from, 1) ? (q_.passes_over_nan ? C(0) : C(NAN)) : f_.largest(from, run);
        if (Status status = take_largest(call, c, largest); !status.ok()) return status;
      }
    }
    for (int64_t c = first; c < last; ++c) derive(call, c);
    write(call, multipliers(call), scales(call), first * run, last * run);
    return {};
  }

  Status search_short_runs(const Call& call, int64_t first, int64_t last) const {
    const int64_t run = q_.channels.run;
    C wide[1024];
    const int64_t at_once = std::ssize(wide) / run;
    for (int64_t c = first; c < last; c += at_once) {
      const int64_t count = std::min(at_once, last - c);
      f_.widen(src(call) + c * run, count * run, wide);
      for (int64_t i = 0; i < count; ++i) {
        C largest = abs_max<C>(wide + i * run, run);
        if (q_.passes_over_nan && !(largest >= 0)) largest = 0;
        if (Status status = take_largest(call, c + i, largest); !status.ok()) return status;
      }
    }
    return {};
  }

  void apply_piece(const Call& call, int64_t piece) const {
    const int64_t begin = walk_.piece_begin(piece), end = walk_.piece_end(piece);
    if (q_.writes == Writes::copy || q_.from != ScaleFrom::given || q_.channels.count != 1)
      return write(call, multipliers(call), scales(call), begin, end);
    const auto scale = static_cast<C>(*q_.scales<T>(call));
    const C multiplier = multiplier_of(scale, top_);
    write(call, &multiplier, &scale, begin, end);
  }

  void write(const Call& call, const C* multipliers, const C* scales, int64_t begin, int64_t end) const {
    if (q_.writes == Writes::copy) {
      f_.copy(src(call) + begin, dst(call) + begin, end - begin, walk_.stream);
    } else {
      f_.apply(walk_, top_, multipliers, scales, src(call), dst(call), begin, end);
    }
  }

  Quantizer q_;
  C top_;
  Functions<T> f_;
  Walk walk_;
  Columns columns_;  ///< blocks of a search down columns
  Blocks blocks_;    ///< blocks of a search along runs
  int64_t partials_ = 0;
  int64_t per_piece_ = 1;  ///< channels in a piece of `whole` or `combine`
};

Plan plan_of(const Quantizer& quantizer, CpuLevel level) {
  return with_any_float(quantizer.dtype, [&]<class T>() {
    auto work = std::make_shared<QuantizerWork<T>>(quantizer, HS_SIMD_CHOOSE(level, functions<T>)(quantizer));
    Plan plan;
    plan.scratch = work->scratch();
    plan.phases.clear();
    for (const Stage& stage : work->stages) plan.phases.push_back(stage.pieces);
    plan.state = std::static_pointer_cast<const Work>(std::move(work));
    return plan;
  });
}

template <class Op, Writes kWrites = Writes::codes>
Plan prepare(const Problem& problem) {
  return plan_of(quantizer_of<Op>(problem, kWrites), problem.level);
}

Plan prepare_copy(const Problem& problem) { return plan_of(copier_of(problem), problem.level); }

Status run(const Call& call, int phase, int64_t piece) {
  const auto& work = state_of<Work>(call);
  return work.run(call, work.stages[static_cast<size_t>(phase)], piece);
}

}  // namespace
}  // namespace paddle

using paddle::Writes;
const Kernel cpu_fake_quantize_abs_max_simd{"simd", accept_simd, paddle::prepare<FakeQuantizeAbsMax>, paddle::run};
const Kernel cpu_fake_quantize_dequantize_abs_max_simd{
    "simd", accept_simd, paddle::prepare<FakeQuantizeDequantizeAbsMax, Writes::values>, paddle::run};
const Kernel cpu_fake_channel_wise_quantize_abs_max_simd{"simd", accept_simd,
                                                         paddle::prepare<FakeChannelWiseQuantizeAbsMax>, paddle::run};
const Kernel cpu_fake_channel_wise_quantize_dequantize_abs_max_simd{
    "simd", accept_simd, paddle::prepare<FakeChannelWiseQuantizeDequantizeAbsMax, Writes::values>, paddle::run};
const Kernel cpu_fake_quantize_range_abs_max_simd{"simd", accept_simd, paddle::prepare<FakeQuantizeRangeAbsMax>,
                                                  paddle::run};
const Kernel cpu_fake_quantize_moving_average_abs_max_simd{
    "simd", accept_simd, paddle::prepare<FakeQuantizeMovingAverageAbsMax>, paddle::run};
const Kernel cpu_fake_quantize_dequantize_moving_average_abs_max_simd{
    "simd", accept_simd, paddle::prepare<FakeQuantizeDequantizeMovingAverageAbsMax, Writes::values>, paddle::run};
const Kernel cpu_moving_average_abs_max_scale_simd{
    "simd", accept_simd, paddle::prepare<MovingAverageAbsMaxScale, Writes::copy>, paddle::run};
const Kernel cpu_straight_through_estimator_grad_simd{"simd", accept_simd, paddle::prepare_copy, paddle::run};
const Kernel cpu_quantize_linear_simd{"simd", accept_simd, paddle::prepare<QuantizeLinear>, paddle::run};

}  // namespace halfstep::kernels
#endif
