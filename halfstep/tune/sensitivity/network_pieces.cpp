#include "halfstep/tune/sensitivity/network_pieces.h"

#include <algorithm>
#include <numeric>

#include "halfstep/tune/sensitivity/cuts.h"

namespace halfstep::sensitivity {
namespace {

constexpr size_t kQuantizers = 16;  ///< least number in a piece, continued to the end of an operation's quantizers

std::vector<std::string> without(const std::vector<std::string>& names, const std::vector<std::string>& others) {
  std::vector<std::string> rest;
  std::ranges::copy_if(names, std::back_inserter(rest),
                       [&](const std::string& name) { return std::ranges::find(others, name) == others.end(); });
  return rest;
}

}  // namespace

Pieces::Pieces(const FloatNetwork& network)
    : network_(network), fronts_(1), pieces_(network.places().size()), ranks_(network.places().size()) {
  const Cuts cuts(network.prepared().graph);
  std::vector<size_t> positions, order(network.places().size());
  for (const Place& place : network.places()) positions.push_back(cuts.position(place.quantizer));
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t place) { return positions[place]; });
  size_t first = 0;  // index in `order` of the first quantizer of the piece
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t position = positions[order[i]];
    if (i - first >= kQuantizers && position != positions[order[i - 1]]) {
      std::vector<std::string> front = cuts.live(position);
      if (const auto computed = without(front, fronts_.back()); !computed.empty()) {
        models_.push_back(network.part(fronts_.back(), computed));
        fronts_.push_back(std::move(front));
        first = i;
      }
    }
    pieces_[order[i]] = models_.size();
    ranks_[order[i]] = i;
  }
  models_.push_back(network.part(fronts_.back(), {}));
}

int64_t Pieces::front_bytes(const std::map<std::string, Dims>& argument_dims) const {
  const Model sized = specialize(network_.prepared(), argument_dims);
  int64_t most = 0;
  for (const std::vector<std::string>& front : fronts_) {
    int64_t bytes = 0;
    for (const std::string& name : front) {
      const Value value = sized.graph.value(name);
      bytes += count_elements(value.dims()) * static_cast<int64_t>(size_of(value.dtype()));
    }
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace halfstep::sensitivity
