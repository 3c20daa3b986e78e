// The digits and a network trained on them, for repairs.
#pragma once

#include "halfstep/halfstep.h"

namespace halfstep::repair {

inline const api::Dataset& digits() {
  static const api::Dataset kDigits = data::digits();
  return kDigits;
}

inline const Model& network() {
  static const Model kNetwork =
      api::train(api::create_network("digits", digits(), 0), digits(), {.epochs = 3, .keep_best = false}, {}).model;
  return kNetwork;
}

inline api::QuantizeOptions options(int weights, int activations, std::vector<std::string> methods) {
  api::QuantizeOptions options;
  options.prepare.weight_bits = weights;
  options.prepare.activation_bits = activations;
  options.repair.methods = std::move(methods);
  options.repair.steps = 60;  // fewer steps, for a test
  options.calibration.batches = 3;
  return options;
}

inline api::QuantizeResult quantized(const Model& model, const api::QuantizeOptions& options, int threads = 0) {
  api::Settings settings;
  settings.threads = threads;
  return api::quantize(model, quant::load_platform("generic_int8"), digits(), options, settings);
}

/// The samples of a data set, for the argument x.
inline data::Samples all_of(const data::Dataset& data) {
  data::Samples all{&data, {}, "x", {}};
  for (int64_t i = 0; i < data.size(); ++i) all.indices.push_back(i);
  return all;
}

inline double accuracy(const Model& model) {
  const auto parts = api::parts_for(model, digits());
  ThreadPool pool(0);
  return train::accuracy(model, parts.test, pool);
}

}  // namespace halfstep::repair
