// A computation on arrays, of one operator or many, as a network that can be run and differentiated.
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

/// Immutable and thread-safe. It is compiled at its first run, without optimizations that could change a bit: the
/// results equal those of its operators run one by one.
class Recorded {
 public:
  /// Devices of arguments and of outputs, in order.
  struct Places {
    std::vector<Place> in, out;
  };

  /// `apart`: names of operations that gradients do not pass.
  Recorded(Model model, Places places, std::set<std::string> apart = {});

  const Model& model() const { return model_; }
  const Graph& graph() const { return model_.graph; }
  const Places& places() const { return places_; }
  const std::set<std::string>& apart() const { return apart_; }

  /// Names of the values that gradients of the outputs with respect to the differentiable arguments read
  /// (values_to_save in tape.h). Computed once. All values if there are no such gradients. A request for them then
  /// fails.
  const std::vector<std::string>& saved(const std::vector<bool>& differentiable) const;

  /// Returns the outputs, followed by the values named in `further`. `inputs` are indexed by argument.
  std::vector<Tensor> run(std::span<const Tensor* const> inputs, const std::vector<std::string>& further = {}) const;

 private:
  struct Compiled {
    std::vector<std::string> further;
    runtime::Program program;
    bool spreads;  ///< large enough to use more than one thread
  };

  /// A single operator that runs without compilation.
  struct Direct {
    Op op;
    struct Operand {
      int argument = -1;
      Tensor constant = {};  ///< operand that is not an argument (undefined: absent)
    };
    std::vector<Operand> operands;  ///< indexed by flat position
    std::vector<size_t> ports;      ///< indexed by output
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

/// One operator on operands of these types (nullptr: absent) on one device, cached. Its arguments are the operands that
/// are present. Its outputs are the results that are produced, listed in `ports`. Throws Error if the operands violate
/// the record's rules.
struct RecordedOperator {
  std::shared_ptr<const Recorded> recorded;
  std::vector<size_t> ports;  ///< indexed by output
};
std::shared_ptr<const RecordedOperator> recorded_operator(const OpInfo& info, const Attributes& attributes,
                                                          std::span<const Type* const> operands, Place place);

}  // namespace halfstep::capture
