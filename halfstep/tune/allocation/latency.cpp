#include "halfstep/tune/allocation/latency.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/source.h"
#include "halfstep/data/datasets/csv_lines.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/tune/allocation/errors.h"

namespace halfstep::allocation {
namespace {

constexpr int kLeastRuns = 50;
constexpr double kSeconds = 0.4;  ///< least measuring time of each program
constexpr double kErrors = 0.05;  ///< variation between layer times due to noise

/// The storage class of a bit width: 4 bits (weights only), one byte or two.
int stored_like(const Group& group, int bits) {
  if (group.is_weight && bits <= 4) return 4;
  return bits <= 8 ? 8 : 16;
}

/// The fastest run, because other load on the machine only adds time.
double least(const std::vector<double>& numbers) { return *std::ranges::min_element(numbers); }

/// An integer program for one sample, with the times of its runs.
class Timed {
 public:
  Timed(const Model& integer, const data::Samples& samples)
      : inputs_(samples.inputs(0, data::batch_of(integer, 1))), program_(compiled(integer, inputs_)) {}

  void run(ThreadPool& pool) {
    using Clock = std::chrono::steady_clock;
    const auto milliseconds = [](Clock::duration time) {
      return std::chrono::duration<double, std::milli>(time).count();
    };
    const auto begin = Clock::now();
    program_.run(inputs_, pool);
    wholes_.push_back(milliseconds(Clock::now() - begin));
    runtime::Trace trace;
    program_.run(inputs_, pool, &trace);
    std::map<std::string, double> layers;
    for (size_t i = 0; i < trace.timings.size(); ++i)
      layers[program_.instructions()[i].name] +=
          1e-6 * static_cast<double>(trace.timings[i].end - trace.timings[i].begin);
    for (const auto& [name, time] : layers) layers_[name].push_back(time);
    spent_ += milliseconds(Clock::now() - begin);
  }
  bool is_enough() const { return std::ssize(wholes_) >= kLeastRuns && spent_ >= 1000 * kSeconds; }
  double whole() const { return least(wholes_); }
  double layer(const std::string& name) const {
    const auto found = layers_.find(name);
    return found == layers_.end() ? 0 : least(found->second);
  }

 private:
  static runtime::Program compiled(const Model& integer, const Tensors& inputs) {
    std::map<std::string, Dims> extents;
    for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
    return compile(specialize(integer, extents));
  }

  Tensors inputs_;
  runtime::Program program_;
  std::vector<double> wholes_;
  std::map<std::string, std::vector<double>> layers_;
  double spent_ = 0;
};

/// For each group, the largest bit width in the given storage class of weights or activations. A group without one
/// keeps its bit width.
Assignment stored_so(const Layout& layout, int weights, int activations) {
  Assignment assignment = layout.now();
  for (size_t g = 0; g < layout.groups.size(); ++g) {
    const Group& group = layout.groups[g];
    for (const int width : group.bit_widths) {
      if (stored_like(group, width) == (group.is_weight ? weights : activations)) assignment[g] = width;
    }
  }
  return assignment;
}

std::set<int> ways(const Layout& layout, bool weights) {
  std::set<int> ways;
  for (const Group& group : layout.groups) {
    if (group.is_weight != weights || group.bit_widths.size() < 2) continue;
    for (const int width : group.bit_widths) ways.insert(stored_like(group, width));
  }
  if (ways.empty()) ways.insert(8);
  return ways;
}

int width_of(const Layout& layout, const Assignment& assignment, int group) {
  return group < 0 ? 0 : stored_like(layout.groups[static_cast<size_t>(group)], assignment[static_cast<size_t>(group)]);
}

/// Share of the time of all layers that depends on bit widths.
double share_that_differs(const std::map<std::tuple<std::string, int, int>, double>& times) {
  std::map<std::string, std::pair<double, double>> ends;
  for (const auto& [key, time] : times) {
    const auto [at, is_new] = ends.try_emplace(std::get<0>(key), time, time);
    at->second = {std::min(at->second.first, time), std::max(at->second.second, time)};
  }
  double differ = 0, all = 0;
  for (const auto& [layer, end] : ends) {
    differ += end.second - end.first;
    all += end.second;
  }
  return all > 0 ? differ / all : 0;
}

std::optional<double> number_in(std::string_view cell) {
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size() || !(number >= 0)) return std::nullopt;
  return number;
}

}  // namespace

std::optional<double> Latencies::of(const Layer& layer, const Layout& layout, int weight_bits, int read_bits) const {
  const auto exact = of_layers.find({layer.name, weight_bits, read_bits});
  if (exact != of_layers.end()) return exact->second;
  const auto like = [&](int group, int bits) {
    return group < 0 ? 0 : stored_like(layout.groups[static_cast<size_t>(group)], bits);
  };
  if (!by_storage) return std::nullopt;
  const auto found = of_layers.find({layer.name, like(layer.weight, weight_bits), like(layer.reads, read_bits)});
  return found == of_layers.end() ? std::nullopt : std::optional(found->second);
}

Latencies read_table(const std::filesystem::path& path, const Layout& layout) {
  Latencies latencies;
  latencies.source = path.string();
  const auto source = io::file_source(path);
  data::CsvLines lines(*source);
  std::vector<Diagnostic> wrong;
  bool is_header = true;
  while (const auto cells = lines.next()) {
    if (cells->size() != 4)
      fail(errors::latency_table_row_malformed(lines.where(), fmt::format("{} cells", cells->size()),
                                               "layer,weights,activations,milliseconds"));
    if (std::exchange(is_header, false) && (*cells)[0] == "layer") continue;
    const std::string layer((*cells)[0]);
    const auto weights = (*cells)[1].empty() ? 0.0 : number_in((*cells)[1]), activations = number_in((*cells)[2]),
               time = number_in((*cells)[3]);
    if (!weights || !activations || !time)
      fail(errors::latency_table_row_malformed(
          lines.where(), data::shown(fmt::format("{}", fmt::join(*cells, ","))),
          "bits of weights (empty without any), bits of activations and milliseconds"));
    if (std::ranges::find(layout.layers, layer, &Layer::name) == layout.layers.end())
      wrong.push_back(errors::latency_table_layer_unknown(lines.where(), data::shown(layer)));
    latencies.of_layers[{layer, static_cast<int>(*weights), static_cast<int>(*activations)}] = *time;
  }
  for (const Layer& layer : layout.layers) {
    const bool has_any =
        std::ranges::any_of(latencies.of_layers, [&](const auto& one) { return std::get<0>(one.first) == layer.name; });
    if (layer.weight >= 0 && !has_any) wrong.push_back(errors::latency_table_layer_missing(path.string(), layer.name));
  }
  fail_on_any(std::move(wrong));
  return latencies;
}

Latencies measure(const Layout& layout, const WithBitWidths& with_bit_widths, const data::Samples& samples,
                  ThreadPool& pool) {
  Latencies latencies;
  latencies.by_storage = true;
  latencies.source = fmt::format("this machine, {} thread{}", pool.threads(), pool.threads() == 1 ? "" : "s");
  std::vector<std::pair<Assignment, Timed>> programs;
  for (const int weights : ways(layout, true)) {
    for (const int activations : ways(layout, false)) {
      const Assignment assignment = stored_so(layout, weights, activations);
      try {
        programs.emplace_back(
            assignment, Timed(quant::convert(with_bit_widths(assignment), {.float_fallback = true}).model, samples));
      } catch (const Error& error) {
        latencies.notes.push_back(fmt::format("weights as {} bits and activations as {} bits could not be measured: {}",
                                              weights, activations, error.what()));
      }
    }
  }
  if (programs.empty()) fail(errors::no_bit_widths_measured(fmt::format("{}", fmt::join(latencies.notes, "; "))));
  while (!std::ranges::all_of(programs, [](const auto& one) { return one.second.is_enough(); })) {
    for (auto& [assignment, timed] : programs) timed.run(pool);
  }
  double rest = 0;
  for (const auto& [assignment, timed] : programs) {
    double layers = 0;
    for (const Layer& layer : layout.layers) {
      const double time = timed.layer(layer.name);
      layers += time;
      latencies.of_layers[{layer.name, width_of(layout, assignment, layer.weight),
                           width_of(layout, assignment, layer.reads)}] = time;
    }
    rest += (timed.whole() - layers) / static_cast<double>(programs.size());
  }
  latencies.rest = rest;
  latencies.differ = share_that_differs(latencies.of_layers) > kErrors;
  return latencies;
}

double run_time(const Model& integer, const data::Samples& samples, ThreadPool& pool) {
  Timed timed(integer, samples);
  while (!timed.is_enough()) timed.run(pool);
  return timed.whole();
}

}  // namespace halfstep::allocation
