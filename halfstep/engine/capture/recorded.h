// What was computed with arrays, one operator or many, as a network that can be run and differentiated.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/place.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/engine/eager/prepared.h"
#include "halfstep/engine/runtime/program.h"

namespace halfstep::capture {

/// Immutable, and for any number of threads at once. Compiled when it is first run, without what could move a bit: it
/// gives what its operators give one after the other.
class Recorded {
 public:
  /// Where arguments are fed and outputs must be, in order.
  struct Places {
    std::vector<Place> in, out;
  };

  /// `apart`: operations that gradients do not pass.
  Recorded(Model model, Places places, std::set<std::string> apart = {});

  const Model& model() const { return model_; }
  const Graph& graph() const { return model_.graph; }
  const Places& places() const { return places_; }
  const std::set<std::string>& apart() const { return apart_; }

  /// Names that gradients of the outputs with respect to the differentiable arguments read (step.h), found once. All
  /// values where there are no such gradients: whoever asks for them is told then.
  const std::vector<std::string>& saved(const std::vector<bool>& differentiable) const;

  /// The outputs, and behind them the values of the names in `further`. Inputs by argument.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs, const std::vector<std::string>& further = {}) const;

 private:
  struct Compiled {
    std::vector<std::string> further;
    runtime::Program program;
    bool spreads;  ///< worth more than one thread
  };

  /// The one operator, where there is no other and no reason to compile.
  struct Direct {
    Op op;
    struct Operand {
      int argument = -1;
      Tensor constant = {};  ///< where it is no argument; undefined: absent
    };
    std::vector<Operand> operands;  ///< by flat position
    std::vector<size_t> ports;      ///< by output
    mutable std::once_flag once = {};
    mutable std::shared_ptr<const eager::Prepared> prepared = nullptr;
  };

  std::unique_ptr<const Direct> direct() const;
  std::unique_ptr<Compiled> take(const std::vector<std::string>& further) const;
  std::vector<Tensor> run_direct(std::span<const Tensor* const> inputs) const;

  Model model_;
  Places places_;
  std::set<std::string> apart_;
  std::unique_ptr<const Direct> direct_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Compiled>> idle_;
  mutable std::map<std::vector<bool>, std::vector<std::string>> saved_;
};

/// One operator on operands of these types (nullptr: absent) at one place, kept and found again. Its arguments are the
/// operands that are there, its outputs the results that there are; `ports` says which. Throws Error as the record's
/// rules do.
struct RecordedOperator {
  std::shared_ptr<const Recorded> recorded;
  std::vector<size_t> ports;  ///< by output
};
std::shared_ptr<const RecordedOperator> recorded_operator(const OpInfo& info, const Attributes& attributes,
                                                          std::span<const Type* const> operands, Place place);

}  // namespace halfstep::capture
