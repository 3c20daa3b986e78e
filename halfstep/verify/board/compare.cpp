#include "halfstep/verify/board/compare.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "halfstep/core/base/sqnr.h"
#include "halfstep/verify/board/dumped_layers.h"
#include "halfstep/verify/board/errors.h"
#include "halfstep/verify/board/match.h"

namespace halfstep::board {
namespace {

constexpr std::string_view kStates[] = {"equal", "differs", "other size", "missing", "extra"};
constexpr int64_t kPart = 1 << 18;          ///< elements to decode at once, at least one sample
constexpr int64_t kMostEvidence = 1 << 18;  ///< elements to try hypotheses on, at least one sample
constexpr int64_t kMostSamples = 4;

/// A value on both sides, sample by sample.
struct Pair {
  const Entry &first, &second;
  Stored first_cells, second_cells;
  ImageDims dims;                             ///< dimensions of the first side's value
  int64_t first_bytes = 0, second_bytes = 0;  ///< bytes of one sample

  Pair(const Side& a, size_t i, const Side& b, size_t j)
      : first(a.manifest.entries[i]),
        second(b.manifest.entries[j]),
        first_cells(a.open(i)),
        second_cells(b.open(j)),
        dims(ImageDims::of(first.type.dims)) {
    first_bytes = sample_bytes(dims, first.type.dtype, first.layout);
    second_bytes = sample_bytes(dims, second.type.dtype, second.layout);
  }

  int64_t samples_of(const Stored& stored, int64_t each) const {
    if (each == 0) return 0;
    const auto bytes = static_cast<int64_t>(stored.cells.size());
    return bytes % each == 0 ? bytes / each : -1;
  }
  /// Whether both sides have the same number of whole samples. Otherwise sample boundaries are unknown.
  bool fits() const {
    const int64_t a = samples_of(first_cells, first_bytes), b = samples_of(second_cells, second_bytes);
    return a >= 0 && a == b;
  }
  bool same_cells() const {
    return first.layout == second.layout && first.type.dtype == second.type.dtype && first_bytes == second_bytes;
  }
  std::span<const std::byte> first_part(int64_t begin, int64_t count) const {
    return first_cells.cells.subspan(static_cast<size_t>(begin * first_bytes),
                                     static_cast<size_t>(count * first_bytes));
  }
  std::span<const std::byte> second_part(int64_t begin, int64_t count) const {
    return second_cells.cells.subspan(static_cast<size_t>(begin * second_bytes),
                                      static_cast<size_t>(count * second_bytes));
  }
  Tensor first_tensor(int64_t begin, int64_t count) const {
    return decode(first_part(begin, count), first.type.dtype, first.type.dims, first.layout);
  }
  Tensor second_tensor(int64_t begin, int64_t count) const {
    return decode(second_part(begin, count), second.type.dtype, first.type.dims, second.layout);
  }
};

Place place_of(const Entry& entry, const ImageDims& dims, int64_t sample, int64_t index, double first, double second) {
  Place place{{}, first, second, sample, {}};
  int64_t rest = index;
  place.position.resize(entry.type.dims.size());
  for (size_t axis = entry.type.dims.size(); axis-- > 1;) {
    place.position[axis] = rest % entry.type.dims[axis];
    rest /= entry.type.dims[axis];
  }
  if (!place.position.empty()) place.position[0] = entry.type.dims.size() == 1 ? index : sample;
  const int64_t c = index / (dims.h * dims.w), h = index / dims.w % dims.h, w = index % dims.w;
  const auto add = [&](const char* name, Order order, Packing packing) {
    Layout layout;
    layout.order = order;
    layout.packing = packing;
    const Cells cells = Cells::of(dims, layout);
    const int64_t cell = sample * cells.total + cells.at(c, h, w);
    place.indices.emplace_back(name, packing == Packing::none ? cell : cell / 2);
  };
  add("NCHW", Order::nchw, Packing::none);
  add("NHWC", Order::nhwc, Packing::none);
  add("NDHWC32", Order::blocks, Packing::none);
  if (entry.codes && entry.codes->bits() <= 4) add("NHWC nibble byte", Order::nhwc, Packing::low_first);
  return place;
}

/// Results that a walk over the elements accumulates.
struct Totals {
  ValueComparison& value;
  const RealTolerance& tolerance;
  double noise = 0;
  std::vector<int64_t> samples = {};  ///< first samples that differ

  void add(const Pair& pair, int64_t sample, const Numbers& a, const Numbers& b) {
    const int64_t each = pair.dims.sample();
    const bool floats = is_float(pair.first.type.dtype) && is_float(pair.second.type.dtype);
    for (size_t i = 0; i < a.size(); ++i) {
      if (same_number(a[i], b[i]) || (floats && tolerance.holds(a[i], b[i]))) continue;
      ++value.differing;
      const double by = std::abs(a[i] - b[i]);
      value.largest = std::max(value.largest, by);
      noise += by * by;
      const int64_t at = sample + static_cast<int64_t>(i) / each;
      if (samples.empty() || (samples.back() != at && static_cast<int64_t>(samples.size()) < kMostSamples))
        samples.push_back(at);
      if (!value.place) value.place = place_of(pair.first, pair.dims, at, static_cast<int64_t>(i) % each, a[i], b[i]);
    }
  }
};

/// Sum of squares of the first side's values.
double signal_of(const Pair& pair, int64_t samples, int64_t step) {
  const auto zero = pair.first.codes ? static_cast<double>(pair.first.codes->zero_point) : 0.0;
  double signal = 0;
  for (int64_t begin = 0; begin < samples; begin += step) {
    const int64_t count = std::min(step, samples - begin);
    for (const double v : numbers_of(pair.first_tensor(begin, count))) signal += (v - zero) * (v - zero);
    pair.first_cells.forget(pair.first_part(begin, count));
  }
  return signal;
}

std::vector<int64_t> compare_pair(const Pair& pair, ValueComparison& value, const RealTolerance& tolerance) {
  Totals totals{value, tolerance};
  const int64_t each = std::max<int64_t>(1, pair.dims.sample()),
                samples = pair.samples_of(pair.first_cells, pair.first_bytes),
                step = std::max<int64_t>(1, kPart / each);
  value.elements = samples * pair.dims.sample();
  for (int64_t begin = 0; begin < samples; begin += step) {
    const int64_t count = std::min(step, samples - begin);
    const auto a = pair.first_part(begin, count), b = pair.second_part(begin, count);
    if (!pair.same_cells() || std::memcmp(a.data(), b.data(), a.size()) != 0) {
      const Tensor first = pair.first_tensor(begin, count), second = pair.second_tensor(begin, count);
      if (!first.same_bits(second)) totals.add(pair, begin, numbers_of(first), numbers_of(second));
    }
    pair.first_cells.forget(a);
    pair.second_cells.forget(b);
  }
  value.sqnr_db = std::numeric_limits<double>::infinity();
  if (value.differing == 0) return {};
  value.state = State::differs;
  value.sqnr_db = decibels(signal_of(pair, samples, step), totals.noise);
  return totals.samples;
}

HeatMap heat_of(const Evidence& e) {
  HeatMap heat{e.dims.h, e.dims.w, {}, {}};
  if (!e.has_found()) return heat;
  heat.share.resize(static_cast<size_t>(e.dims.h * e.dims.w));
  heat.channels.resize(static_cast<size_t>(e.dims.c));
  for (size_t i = 0; i < e.size(); ++i) {
    if (same_number(e.expected[i], e.found[i])) continue;
    heat.share[i % heat.share.size()] += 1 / static_cast<double>(e.dims.n * e.dims.c);
    heat.channels[i / heat.share.size() % heat.channels.size()] +=
        1 / static_cast<double>(e.dims.n * e.dims.h * e.dims.w);
  }
  return heat;
}

/// Samples of both sides that differ. If sizes differ, all samples of the first side and all bytes of the second one.
Evidence evidence_of(const Pair& pair, const std::vector<int64_t>& differing) {
  Evidence evidence;
  evidence.entry = pair.first;
  evidence.dims = pair.dims;
  evidence.layout = pair.second.layout;
  evidence.type = pair.second.type.dtype;
  std::vector<int64_t> samples = differing;
  if (!pair.fits()) {
    samples.clear();
    for (int64_t n = 0; n < pair.samples_of(pair.first_cells, pair.first_bytes); ++n) samples.push_back(n);
    evidence.cells.assign(pair.second_cells.cells.begin(), pair.second_cells.cells.end());
  }
  const int64_t most = std::max<int64_t>(1, kMostEvidence / std::max<int64_t>(1, pair.dims.sample()));
  if (pair.fits() && static_cast<int64_t>(samples.size()) > most) samples.resize(static_cast<size_t>(most));
  evidence.dims.n = static_cast<int64_t>(samples.size());
  for (const int64_t n : samples) {
    const Numbers own = numbers_of(pair.first_tensor(n, 1));
    evidence.expected.insert(evidence.expected.end(), own.begin(), own.end());
    if (!pair.fits()) continue;
    const Numbers other = numbers_of(pair.second_tensor(n, 1));
    evidence.found.insert(evidence.found.end(), other.begin(), other.end());
    const auto cells = pair.second_part(n, 1);
    evidence.cells.insert(evidence.cells.end(), cells.begin(), cells.end());
  }
  return evidence;
}

class Walk {
 public:
  Walk(Side first, Side second, ThreadPool& pool, const RealTolerance& tolerance, const ProgressCallback& progress)
      : first_(std::move(first)), second_(std::move(second)), pool_(pool), tolerance_(tolerance), progress_(progress) {}

  Comparison run() {
    result_.first = first_.name;
    result_.second = second_.name;
    interpret_both();
    result_.network = first_.manifest.network.empty() ? second_.manifest.network : first_.manifest.network;
    read_codes(first_, second_);
    read_codes(second_, first_);
    const auto pairs = match(first_, second_);
    std::vector<bool> taken(second_.manifest.entries.size());
    double done = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (progress_)
        progress_({"comparing", ++done, static_cast<double>(pairs.size()), first_.manifest.entries[i].name});
      if (pairs[i]) taken[*pairs[i]] = true;
      add(i, pairs[i]);
    }
    require_common(pairs);
    for (size_t j = 0; j < taken.size(); ++j) {
      if (taken[j]) continue;
      const Entry& entry = second_.manifest.entries[j];
      result_.values.push_back({entry.name, entry.layer, entry.op, entry.what, "", State::extra, 0, 0, 0, 0, {}});
    }
    if (result_.differing) explain();
    for (const Side* side : {&first_, &second_})
      result_.notes.insert(result_.notes.end(), side->notes.begin(), side->notes.end());
    return std::move(result_);
  }

 private:
  void interpret_both() {
    const auto is_bare = [](const Side& side) { return std::ranges::count(side.bare, true) > 0; };
    if (is_bare(first_) && is_bare(second_))
      fail(errors::dumps_not_described(first_.name, second_.name, kManifestFile));
    if (is_bare(second_)) interpret(second_, first_);
    if (is_bare(first_)) {
      interpret(first_, second_);
      order_as(second_.manifest, first_);
    }
  }

  /// Sorts values into execution order, which only the other side knows.
  static void order_as(const Manifest& known, Side& side) {
    std::vector<std::pair<size_t, size_t>> order;
    for (size_t i = 0; i < side.manifest.entries.size(); ++i) {
      const Entry* entry = known.find(side.manifest.entries[i].name);
      order.emplace_back(entry == nullptr ? known.entries.size() : static_cast<size_t>(entry - known.entries.data()),
                         i);
    }
    std::ranges::sort(order);
    std::vector<Entry> entries;
    for (const auto& [place, i] : order) entries.push_back(side.manifest.entries[i]);
    side.manifest.entries = std::move(entries);
    side.manifest.graph = known.graph;
    side.manifest.network = known.network;
  }

  void add(size_t i, std::optional<size_t> other) {
    const Entry& entry = first_.manifest.entries[i];
    ValueComparison value{entry.name, entry.layer, entry.op, entry.what, "", State::equal, 0, 0, 0, 0, {}};
    if (!other) {
      value.state = State::missing;
    } else {
      const Pair pair(first_, i, second_, *other);
      if (pair.second.name != entry.name) value.second_name = pair.second.name;
      std::vector<int64_t> samples;
      if (pair.fits()) {
        samples = compare_pair(pair, value, tolerance_);
      } else {
        value.state = State::other_size;
        value.elements = value.differing = count_elements(entry.type.dims);
      }
      if (value.state != State::equal && !result_.differing) {
        result_.differing = result_.values.size();
        at_ = {i, *other};
        samples_ = samples;
      }
    }
    result_.values.push_back(std::move(value));
  }

  void require_common(const std::vector<std::optional<size_t>>& pairs) const {
    if (std::ranges::any_of(pairs, [](const auto& pair) { return pair.has_value(); })) return;
    const auto some = [](const Side& side) {
      std::vector<std::string> names;
      for (const Entry& entry : side.manifest.entries) names.push_back(entry.name);
      constexpr size_t kShown = 5;
      const size_t count = names.size();
      names.resize(std::min(count, kShown));
      return fmt::format("{}{}", fmt::join(names, ", "),
                         count > kShown ? fmt::format(" and {} more", count - kShown) : "");
    };
    fail(errors::dumps_without_common_value(first_.name, second_.name, some(first_), some(second_)));
  }

  void explain() {
    const Pair pair(first_, at_.first, second_, at_.second);
    Evidence evidence = evidence_of(pair, samples_);
    const Layers layers(first_.manifest.graph.empty() ? second_ : first_);
    evidence.rerun = layers.rerun(evidence.entry.name, samples_, result_.undiagnosed);
    evidence.pool = &pool_;
    if (evidence.rerun) evidence.sums = checked_sums(evidence);
    result_.heat = heat_of(evidence);
    result_.guesses = diagnose(evidence);
    if (pair.fits()) return;
    const bool explained = !result_.guesses.empty() && result_.guesses.front().proof == Proof::exact;
    if (explained) return;
    const Entry& entry = pair.second;
    const int64_t expected = pair.dims.n * pair.second_bytes;
    const auto found = static_cast<int64_t>(pair.second_cells.cells.size());
    fail(errors::dump_file_unfit(
        fmt::format("{}: value '{}'", (second_.folder / entry.file).string(), entry.name),
        fmt::format("{} bytes", found),
        fmt::format("{} ({} as {})", expected, to_string(pair.first.type), describe(entry.layout))));
  }

  /// The layer's sums, if the layer computed from the dump has the expected result. Otherwise the dump is not from one
  /// run, and no hypothesis can be computed.
  std::optional<Sums> checked_sums(Evidence& evidence) {
    try {
      if (numbers_of(evidence.rerun->run(pool_)) != evidence.expected) {
        result_.undiagnosed = fmt::format(
            "the layer recomputed from the dumped inputs does not produce its dumped codes, so no cause was searched; "
            "check that '{}' and its inputs come from one run",
            evidence.entry.name);
        evidence.rerun.reset();
        return std::nullopt;
      }
      return sums_of(*evidence.rerun, pool_);
    } catch (const Error& error) {
      result_.undiagnosed = error.what();
      evidence.rerun.reset();
      return std::nullopt;
    }
  }

  Side first_, second_;
  ThreadPool& pool_;
  const RealTolerance& tolerance_;
  const ProgressCallback& progress_;
  Comparison result_;
  std::pair<size_t, size_t> at_;
  std::vector<int64_t> samples_;
};

}  // namespace

std::string_view name(State state) { return kStates[static_cast<size_t>(state)]; }

bool Comparison::equal() const {
  return std::ranges::all_of(values, [](const ValueComparison& value) { return value.state == State::equal; });
}

Comparison compare(Side first, Side second, ThreadPool& pool, const RealTolerance& tolerance,
                   const ProgressCallback& progress) {
  return Walk(std::move(first), std::move(second), pool, tolerance, progress).run();
}

}  // namespace halfstep::board
