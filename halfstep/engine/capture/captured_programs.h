// What was captured of a function for calls of one kind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/engine/capture/call_kind.h"
#include "halfstep/engine/capture/captured.h"

namespace halfstep::capture {

/// Programs for all extents that calls came with: those of the first call, and where what the function does cannot
/// depend on an extent, the same for others, without running it again. Not for several threads at once.
class Programs {
 public:
  static constexpr size_t kMostExtents = 8;  ///< combinations that are kept, the last that were used

  /// For calls like one with these inputs, now.
  explicit Programs(const Arrays& inputs) : kind_(inputs) {}

  /// "" where a call with these inputs is of this kind; else what was found and what is expected. An extent that is
  /// met with another value, and may be, is open from then on.
  std::string mismatch(const Arrays& inputs);

  /// As those of Captured, for the extents of the inputs.
  std::optional<Location> add(Trace& trace, const Arrays& inputs, const Arrays& results, size_t tag);
  Captured::Run run(const Arrays& inputs, const std::function<void(size_t number, const Arrays& shown)>& effect);

  const Switches& switches() const { return kind_.switches(); }
  /// "f32[?, 3]" by input.
  std::vector<std::string> types() const { return kind_.types(); }
  /// Of the extents that were used last.
  size_t count() const { return by_extents_.empty() ? 0 : by_extents_.front()->programs(); }
  std::string text() const { return by_extents_.empty() ? std::string() : by_extents_.front()->text(); }

 private:
  bool find(const Arrays& inputs);
  bool make(const Arrays& inputs);
  void insert(Captured captured);

  CallKind kind_;
  /// The last that were used first. What is shown while one runs may come here again.
  std::vector<std::shared_ptr<Captured>> by_extents_;
  std::vector<std::vector<Dims>> refused_;  ///< extents that an operator does not take
};

}  // namespace halfstep::capture
