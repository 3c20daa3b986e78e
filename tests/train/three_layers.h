// A float network that trains in almost no time, and samples for it.
#pragma once

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace halfstep::train {

inline Model float_network() {
  return initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[16, 8]\n  param @w: f32[16, 16]\n  param @v: f32[4, "
            "16]\n  a = linear(x, w=@u)\n  r = relu(a)\n  b = linear(r, w=@w)\n  c = linear(b, w=@v)\n  "
            "return c\n}\n",
            "g.ir"),
      3);
}

inline data::Dataset random_data(int64_t count, uint64_t seed = 5) {
  data::Dataset data;
  data.name = "random";
  data.x = Tensor(DType::f32, {count, 8});
  Random random(seed, 0);
  for (float& value : data.x.data<float>()) value = random.uniform() - 0.5F;
  data.raw = false;
  return data;
}

/// 96 samples. With labels, their four classes alternate.
inline data::Dataset random_samples(bool labelled) {
  constexpr int64_t kSamples = 96;
  data::Dataset data = random_data(kSamples);
  if (!labelled) return data;
  data.labels = Tensor(DType::i32, {kSamples});
  for (size_t i = 0; i < kSamples; ++i) data.labels.data<int32_t>()[i] = static_cast<int32_t>(i % 4);
  data.classes = {"a", "b", "c", "d"};
  return data;
}

inline data::Samples all_of(const data::Dataset& data) {
  data::Samples all{&data, {}, "x", {}};
  for (int64_t i = 0; i < data.size(); ++i) all.indices.push_back(i);
  return all;
}

}  // namespace halfstep::train
