#include "halfstep/tune/sensitivity/observed.h"

#include <algorithm>

#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/calibrate.h"

namespace halfstep::sensitivity {
namespace {

constexpr int64_t kBatches = 4;  ///< with 64 samples each

std::vector<std::string> observers_for(const quant::Platform& platform) {
  std::vector<std::string> names = quant::observer_names();
  std::erase_if(names, [&](const std::string& name) {
    return quant::starts_learning(name) || (quant::gives_powers_of_two(name) && !platform.power_of_two);
  });
  return names;
}

Model with_observer(const FloatNetwork& network, quant::Platform platform, const std::string& observer) {
  Model model = network.prepared();
  platform.weight_observer = platform.activation_observer = observer;
  platform.low_bits_observer = "";
  platform.weight_quantizer = platform.activation_quantizer = QuantizerKind::fixed;
  for (const auto& quantizer : model.graph.all<ops::FakeQuantize>())
    quant::set_quantizer_bits(model, platform, quantizer, quant::bits_of(quantizer));
  return model;
}

}  // namespace

std::vector<Observed> observed_ranges(const Model& prepared, const FloatNetwork& network, const data::Samples& samples,
                                      uint64_t seed, ThreadPool& pool, const ProgressCallback& progress) {
  const quant::Platform& platform = quant::platform_of(prepared);
  const std::vector<std::string> names = observers_for(platform);
  std::vector<Observed> all;
  for (const std::string& name : names) {
    Model model = with_observer(network, platform, name);
    train::calibrate(model, samples, {.batches = kBatches, .seed = seed}, pool);
    Observed observed{name, {}};
    const auto quantizers = model.graph.all<ops::FakeQuantize>();
    for (size_t p = 0; p < quantizers.size(); ++p)
      observed.rounders.emplace_back(model, quantizers[p], network.places()[p].kind);
    all.push_back(std::move(observed));
    if (progress) progress({"observers", static_cast<double>(all.size()), static_cast<double>(names.size()), name});
  }
  return all;
}

}  // namespace halfstep::sensitivity
