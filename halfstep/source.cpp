#include "halfstep/source.h"

#include <algorithm>

#include "halfstep/base/random.h"
#include "halfstep/base/status.h"

namespace halfstep {

std::shared_ptr<const Source> source_of(const Model& network, const train::Samples& samples, int64_t keep,
                                        uint64_t seed) {
  constexpr uint64_t kStream = uint64_t{1} << 34;  // apart from those of calibration and training
  if (keep < 0) fail("keep-samples: found {}, expected a number of samples, or 0 for none", keep);
  const int64_t batch = train::batch_of(network, 1);
  const int64_t count = std::min((keep + batch - 1) / batch * batch, train::usable(network, samples.size()));
  const auto order = Random(seed, kStream).permutation(samples.size());
  return std::make_shared<const Source>(Source{network, count == 0 ? Tensors() : samples.inputs(0, count, &order)});
}

}  // namespace halfstep
