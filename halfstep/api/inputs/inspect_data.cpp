#include "halfstep/api/inputs/inspect_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <map>
#include <set>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/data/datasets/image_set.h"
#include "halfstep/data/datasets/split.h"

namespace halfstep::api {
namespace {

/// Moments of one channel. Sums of integers are exact in any order. Sums of other values use a fixed order.
struct Moments {
  double count = 0, sum = 0, squares = 0, least = HUGE_VAL, most = -HUGE_VAL;

  void add(double value) {
    count += 1;
    sum += value;
    squares += value * value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  void add(const Moments& other) {
    count += other.count;
    sum += other.sum;
    squares += other.squares;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
  }
};
using Channels = std::vector<Moments>;

/// Moments of u8 [h, w, c].
Channels moments_of(const Tensor& picture) {
  const auto channels = static_cast<size_t>(picture.dims()[2]);
  const auto values = picture.data<uint8_t>();
  Channels result;
  for (size_t c = 0; c < channels; ++c) {
    std::array<uint64_t, 256> histogram{};
    for (size_t i = c; i < values.size(); i += channels) ++histogram[values[i]];
    Moments& moments = result.emplace_back();
    for (size_t value = 0; value < histogram.size(); ++value) {
      if (histogram[value] == 0) continue;
      const auto count = static_cast<double>(histogram[value]), v = static_cast<double>(value);
      moments.add(Moments{count, count * v, count * v * v, v, v});
    }
  }
  return result;
}

/// Moments of f32 [n, c, ...], or of [n, columns], whose columns count as one channel.
Channels moments_of_batch(const Tensor& x) {
  const Dims& dims = x.dims();
  const int64_t channels = dims.size() == 4 ? dims[1] : 1;
  const int64_t plane = dims[0] == 0 ? 0 : x.size() / (dims[0] * channels);
  Channels result(static_cast<size_t>(channels));
  const float* at = x.data<float>().data();
  for (int64_t row = 0; row < dims[0] * channels; ++row) {
    for (int64_t i = 0; i < plane; ++i) result[static_cast<size_t>(row % channels)].add(double{*at++});
  }
  return result;
}

[[noreturn]] void rethrow_with_remedy(const std::exception_ptr& fault) {
  try {
    std::rethrow_exception(fault);
  } catch (const Error& error) {
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    add_remedy(diagnostics, "--skip-bad skips unreadable samples");
    throw Error(std::move(diagnostics));
  }
}

/// Accumulates the moments of all samples.
class Survey {
 public:
  Survey(const Dataset& data, const Settings& settings) : data_(data), settings_(settings), pool_(settings.threads) {}

  Channels run(const std::vector<int64_t>& indices) {
    constexpr size_t kChunk = 256;
    for (size_t begin = 0; begin < indices.size(); begin += kChunk) {
      const auto chunk = std::span(indices).subspan(begin, std::min(kChunk, indices.size() - begin));
      data_.images ? add_pictures(chunk) : add(moments_of_batch(data_.batch(chunk)));
      if (settings_.progress)
        settings_.progress(
            {"reading", static_cast<double>(begin + chunk.size()), static_cast<double>(indices.size()), data_.name});
    }
    return std::move(all_);
  }

 private:
  void add_pictures(std::span<const int64_t> chunk) {
    std::vector<Channels> found(chunk.size());
    std::vector<std::exception_ptr> faults(chunk.size());
    pool_.parallel_for(static_cast<int64_t>(chunk.size()), [&](int64_t at) {
      const auto i = static_cast<size_t>(at);
      try {
        found[i] = moments_of(data_.images->picture(chunk[i], {}));
      } catch (const std::exception&) {
        faults[i] = std::current_exception();
      }
    });
    for (const std::exception_ptr& fault : faults) {
      if (fault) rethrow_with_remedy(fault);
    }
    for (const Channels& channels : found) add(channels);
  }

  void add(const Channels& channels) {
    all_.resize(channels.size());
    for (size_t c = 0; c < channels.size(); ++c) all_[c].add(channels[c]);
  }

  const Dataset& data_;
  const Settings& settings_;
  ThreadPool pool_;
  Channels all_;
};

std::vector<std::pair<std::string, int64_t>> sizes_of(const data::ImageSet& images) {
  std::map<data::PictureSize, int64_t> counts;
  for (int64_t i = 0; i < images.size(); ++i) ++counts[images.size_of(i, {})];
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const auto& [size, count] : counts) sizes.emplace_back(size.text(), count);
  std::ranges::stable_sort(sizes, [](const auto& a, const auto& b) { return a.second > b.second; });
  return sizes;
}

std::vector<int64_t> union_of(const data::Split& parts) {
  std::set<int64_t> all;
  for (const auto* part : {&parts.train, &parts.val, &parts.test}) all.insert(part->begin(), part->end());
  return {all.begin(), all.end()};
}

}  // namespace

DataReport describe_data(const Dataset& data) {
  DataReport report{.name = data.name, .form = data.form, .samples = data.size()};
  for (const std::string& name : data.classes) report.classes.emplace_back(name, 0);
  if (data.has_labels()) {
    for (const int32_t label : data.labels.data<int32_t>()) ++report.classes[static_cast<size_t>(label)].second;
  }
  const data::Split parts = data::parts_of(data);
  report.train = static_cast<int64_t>(parts.train.size());
  report.val = static_cast<int64_t>(parts.val.size());
  report.test = static_cast<int64_t>(parts.test.size());
  report.tested = parts.tested;
  for (const auto& [name, tensor] : data.inputs) report.inputs.emplace_back(name, tensor.type());
  for (const auto& [name, tensor] : data.targets) report.targets.emplace_back(name, tensor.type());
  if (data.masks) report.targets.emplace_back("target", Type{DType::i32, {data.size(), kUnknown, kUnknown}});
  if (data.has_x()) report.sample = data.sample_dims();
  if (data.images) report.sizes = sizes_of(*data.images);
  report.raw = data.raw && data.has_x();
  report.skipped = data.skipped();
  return report;
}

DataReport inspect_data(const Dataset& data, const Settings& settings) {
  DataReport report = describe_data(data);
  if (!data.has_x()) return report;
  const std::vector<int64_t> indices = union_of(data::parts_of(data));
  report.measured = static_cast<int64_t>(indices.size());
  Moments all;
  for (const Moments& channel : Survey(data, settings).run(indices)) {
    all.add(channel);
    const double mean = channel.sum / channel.count;
    report.mean.push_back(mean);
    report.deviation.push_back(std::sqrt(std::max(0.0, channel.squares / channel.count - mean * mean)));
  }
  report.least = all.least;
  report.most = all.most;
  return report;
}

}  // namespace halfstep::api
