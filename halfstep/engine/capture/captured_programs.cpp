#include "halfstep/engine/capture/captured_programs.h"

#include <algorithm>

#include "halfstep/core/base/status.h"

namespace halfstep::capture {
namespace {

std::vector<Dims> extents_of(const Arrays& inputs) {
  std::vector<Dims> extents;
  for (const Array& input : inputs) extents.push_back(input.dims());
  return extents;
}

}  // namespace

std::string Programs::mismatch(const Arrays& inputs) {
  std::string why = kind_.mismatch(inputs);
  if (by_extents_.empty()) return why;
  const bool is_there = why.empty() ? find(inputs) || make(inputs) : kind_.is_but_for_extents(inputs) && make(inputs);
  if (!is_there) return why.empty() ? "the extents of arrays differ" : why;
  if (!why.empty()) kind_.open(inputs);
  if (!by_extents_.front()->fits(inputs)) return "arrays outside the function: their gradients changed";
  return {};
}

std::optional<Location> Programs::add(Trace& trace, const Arrays& inputs, const Arrays& results, size_t tag) {
  if (!find(inputs)) insert(Captured());
  const std::shared_ptr<Captured> captured = by_extents_.front();
  return captured->add(trace, inputs, results, tag);
}

Captured::Run Programs::run(const Arrays& inputs, const std::function<void(size_t, const Arrays&)>& effect) {
  if (!find(inputs)) return {};
  const std::shared_ptr<Captured> captured = by_extents_.front();
  return captured->run(inputs, effect);
}

/// Moves the programs for these extents to the front. Returns whether there are any.
bool Programs::find(const Arrays& inputs) {
  const auto found = std::ranges::find_if(by_extents_, [&](const auto& each) { return each->has_extents(inputs); });
  if (found == by_extents_.end()) return false;
  std::rotate(by_extents_.begin(), found, found + 1);
  return true;
}

bool Programs::make(const Arrays& inputs) {
  if (std::ranges::find(refused_, extents_of(inputs)) != refused_.end()) return false;
  for (const auto& each : by_extents_) {
    try {
      std::optional<Captured> made = each->with_extents(inputs);
      if (!made) continue;
      insert(std::move(*made));
      return true;
    } catch (const Error&) {  // the function itself throws the precise error
    }
  }
  if (refused_.size() >= kMostExtents) refused_.erase(refused_.begin());
  refused_.push_back(extents_of(inputs));
  return false;
}

void Programs::insert(Captured captured) {
  if (by_extents_.size() >= kMostExtents) by_extents_.pop_back();
  by_extents_.insert(by_extents_.begin(), std::make_shared<Captured>(std::move(captured)));
}

}  // namespace halfstep::capture
