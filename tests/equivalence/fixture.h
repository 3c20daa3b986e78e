// A prepared network and the digits, small enough for every test.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "halfstep/core/base/random.h"
#include "halfstep/halfstep.h"
#include "halfstep/quant/prepare/float_form.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace halfstep::test {

/// The built-in network on the digits, untrained but calibrated, for a platform and bit widths.
struct Prepared {
  data::Dataset data = data::digits();
  data::TrainTest parts = data::split(data);
  ThreadPool pool{2};
  Model model;

  explicit Prepared(const std::string& platform, quant::PrepareOptions bit_widths = {},
                    const std::vector<std::pair<std::string, std::string>>& overrides = {},
                    const std::string& network = "digits", const std::function<void(Model&)>& change = {}) {
    Model fresh = train::create_network(network, data.sample_dims(), static_cast<int64_t>(data.classes.size()), 7);
    data::set_preprocess(fresh, {.scale = 1.0F / 16});
    parts.feed(fresh);
    disturb(fresh);
    if (change) change(fresh);
    model = quant::prepare(fresh, quant::load_platform(platform, overrides), bit_widths);
    train::calibrate(model, parts.train, {.batch = 32, .batches = 2}, pool);
    quant::clear_layers(fresh);
    model.source = std::make_shared<const Source>(Source{fresh, parts.test.inputs(0, 3)});
  }

  verify::VerifyReport compare(const verify::ExecutionPaths& paths, int64_t samples = 20) {
    return verify::compare_paths(
        paths, [&](int64_t begin, int64_t count) { return parts.test.inputs(begin, count); }, samples, 64, pool);
  }

 private:
  static bool is_zero(const Tensor& tensor) {
    return std::ranges::all_of(tensor.data<float>(), [](float value) { return value == 0; });
  }

  /// Sets biases other than zero and statistics other than zero and one, so that folding and bias codes matter.
  static void disturb(Model& model) {
    Random random(11, 3);
    for (auto& [name, tensor] : model.tensors) {
      if (tensor.dims().size() > 1 && is_zero(tensor)) {  // the initializer does not treat its reader as a layer with
                                                          // weights
        for (float& value : tensor.data<float>()) value += 0.5F * random.normal();
      }
      if (tensor.dims().size() != 1) continue;
      for (float& value : tensor.data<float>()) value += 0.3F * (random.uniform() - 0.4F);
      if (name != "bn2.scale") continue;
      for (float& value : tensor.data<float>()) value *= 8;  // so that relu6 clips some values
    }
  }
};

}  // namespace halfstep::test
