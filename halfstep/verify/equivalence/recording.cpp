#include "halfstep/verify/equivalence/recording.h"

namespace halfstep::verify {

std::optional<Tensor> Recording::next(int64_t sample, const std::string& layer, const Tensor& like) {
  const auto batch = batches_.find(sample);
  if (batch == batches_.end()) return std::nullopt;
  const auto codes = batch->second.find(layer);
  if (codes == batch->second.end()) return std::nullopt;
  int64_t& asked = asked_[{layer, sample}];
  const int64_t begin = asked;
  asked += like.size();
  if (asked > codes->second.size()) return std::nullopt;
  return codes->second.rows(begin, asked).reshaped(like.dims());
}

std::optional<std::pair<int64_t, Counts>> Recording::first_mismatch(const std::string& layer) const {
  for (const auto& [sample, layers] : batches_) {
    const auto codes = layers.find(layer);
    if (codes == layers.end()) continue;
    const auto asked = asked_.find({layer, sample});
    const Counts counts{asked == asked_.end() ? 0 : asked->second, codes->second.size()};
    if (counts.program != counts.engine) return std::pair(sample, counts);
  }
  return std::nullopt;
}

}  // namespace halfstep::verify
