#include "halfstep/engine/capture/random_arrays.h"

#include <mutex>

#include "halfstep/core/base/random.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {
namespace {

std::mutex turn;
Draws now;  ///< each filled array has its own stream

Random next_stream() {
  const std::scoped_lock lock(turn);
  return {now.seed, now.count++};
}

template <class Next>
Tensor filled(const Dims& dims, const Next& next) {
  Tensor tensor(DType::f32, dims);
  Random random = next_stream();
  for (float& value : tensor.data<float>()) value = static_cast<float>(next(random));
  return tensor;
}

Array draw(const std::function<Tensor()>& make) {
  Trace* trace = Trace::current();
  return trace == nullptr ? Array(make()) : trace->draw(make);
}

}  // namespace

void seed(uint64_t value) { set_draws({value, 0}); }

Draws draws() {
  const std::scoped_lock lock(turn);
  return now;
}

void set_draws(Draws to) {
  const std::scoped_lock lock(turn);
  now = to;
}

Array uniform(const Dims& dims, double low, double high) {
  return draw([=] { return filled(dims, [&](Random& random) { return low + (high - low) * random.uniform(); }); });
}

Array normal(const Dims& dims, double mean, double deviation) {
  return draw([=] { return filled(dims, [&](Random& random) { return mean + deviation * random.normal(); }); });
}

}  // namespace halfstep::capture
