// Captured programs of a function for calls of one kind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "halfstep/engine/capture/call_kind.h"
#include "halfstep/engine/capture/captured.h"

namespace halfstep::capture {

/// Programs for all extents that calls used. The programs of the first call are adapted to other extents without a new
/// run, if the function cannot depend on them. Not thread-safe.
class Programs {
 public:
  static constexpr size_t kMostExtents = 8;  ///< maximum number of extent combinations, the most recently used are kept

  /// For calls of the same kind as one with these inputs now.
  explicit Programs(const Arrays& inputs) : kind_(inputs) {}

  /// "" if a call with these inputs is of this kind. Else the found and the expected property. An extent that has
  /// another value, and is allowed to, becomes dynamic.
  std::string mismatch(const Arrays& inputs);

  /// Like Captured::add, for the extents of the inputs.
  std::optional<Location> add(Trace& trace, const Arrays& inputs, const Arrays& results, size_t tag);
  Captured::Run run(const Arrays& inputs, const std::function<void(size_t number, const Arrays& shown)>& effect);

  const Switches& switches() const { return kind_.switches(); }
  /// One entry per input, for example "f32[?, 3]".
  std::vector<std::string> types() const { return kind_.types(); }
  /// Number of programs for the most recently used extents.
  size_t count() const { return by_extents_.empty() ? 0 : by_extents_.front()->programs(); }
  std::string text() const { return by_extents_.empty() ? std::string() : by_extents_.front()->text(); }

 private:
  bool find(const Arrays& inputs);
  bool make(const Arrays& inputs);
  void insert(Captured captured);

  CallKind kind_;
  /// Most recently used first. Shared pointers, because an effect of a running program may change this list.
  std::vector<std::shared_ptr<Captured>> by_extents_;
  std::vector<std::vector<Dims>> refused_;  ///< extents that an operator does not accept
};

}  // namespace halfstep::capture
