// Builds Halfstep's graph during translation of a foreign graph, and evaluates it where a value is needed.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/formats/builder/foreign_file.h"
#include "halfstep/formats/builder/foreign_operand.h"
#include "halfstep/formats/builder/node.h"
#include "halfstep/formats/builder/region_builder.h"

namespace halfstep::formats {

/// Whether the error can be resolved by given inputs, or by given extents.
bool needs_values(const Diagnostic& diagnostic);
bool needs_values(const Error& error);
bool needs_extents(const Diagnostic& diagnostic);

/// Declaration of an input in a file.
struct Declared {
  Type type;
  std::vector<std::string> extents = {};  ///< names in the file, "" for an unnamed extent
};

struct RecordEntry;

/// Fills a region. Takes the operands that its arguments represent, returns its outputs.
using FillRegion = std::function<std::vector<Operand>(const std::vector<Operand>&)>;

/// A `while` or a `scan`: the first condition (if any), the states, and the scanned values.
struct LoopSpec {
  std::string_view op;
  std::vector<Operand> conditions, states, scanned;
};

class Builder {
 public:
  /// With `survey`, unsupported nodes are recorded there instead of rejected, and the model is not usable. `file` is
  /// the name of the file.
  Builder(std::string file, const Binding& binding, Model& model, Coverage* survey);

  const Binding& binding() const { return binding_; }
  /// Whether the binding has values of inputs.
  bool has_values() const { return !binding_.values.empty(); }
  bool surveys() const { return survey_ != nullptr; }
  const Trials& trials() const { return trials_; }
  /// The block that receives new operations.
  const Block& block() const { return regions_.block() != nullptr ? *regions_.block() : model_.graph.body(); }

  /// Inserts one of Halfstep's operators with operands by flat position. Returns results by port. Computes them
  /// immediately if all operands are known.
  std::vector<Operand> make(const Node& node, std::string_view op, std::vector<Operand> operands,
                            Attributes attributes = {});
  /// Inserts an operator with one result and returns it.
  Operand make_one(const Node& node, std::string_view op, std::vector<Operand> operands, Attributes attributes = {});
  /// Inserts an operation with one region for each of `fill`. Returns results by position. Values that a region needs
  /// from the enclosing graph are captured automatically.
  std::vector<Operand> make_branches(const Node& node, const Operand& condition, const std::vector<FillRegion>& fill);
  /// Inserts a loop or a scan, whose region is made from `body`. If iterations change an extent of a state, the region
  /// is filled again with that extent dynamic.
  std::vector<Operand> make_loop(const Node& node, const LoopSpec& loop, const void* body, const FillRegion& fill);
  /// Calls `translate`. Returns false and discards its effects if something is not supported or not known.
  bool tried(const std::function<void()>& translate);
  /// Calls `translate` for a nested graph that is inlined. A graph that failed once is not tried again, because each
  /// nesting level would double the work.
  bool tried_inside(const void* graph, const std::function<void()>& translate);
  /// Calls `as_regions` for a graph if only a run determines whether or how often it runs. Calls `in_place` if that is
  /// not possible and given inputs determine it now.
  void regions_or(const std::function<void()>& as_regions, const std::function<void()>& in_place);
  /// Returns an integer that determines which nodes are translated. Throws depends_on_values if it depends on inputs.
  /// With `with_inputs`, given inputs count as known.
  int64_t decision(const Node& node, const Operand& operand, bool with_inputs);
  /// Translates a node by a `foreign` entry of a record. Returns results by port.
  std::vector<Operand> by_entry(const Node& node, const std::vector<Operand>& inputs, const RecordEntry& entry);
  /// Reshapes `operand` to `dims`, where 0 keeps an extent and -1 is inferred.
  Operand reshaped(const Node& node, const Operand& operand, Dims dims);
  static Operand known(Tensor tensor, std::string name = {});
  static Operand lost();

  /// Returns the contents, computed if necessary. Throws if values, extents or the input are missing.
  Tensor contents(const Operand& operand);
  /// Returns a scalar or short list of integers that may depend on dynamic extents. Returns nothing if they depend on
  /// other values.
  std::optional<Elements> elements(const Operand& operand);
  /// Returns the elements only if not all contents are known.
  std::optional<Elements> open_elements(const Operand& operand) {
    return operand.known() ? std::nullopt : elements(operand);
  }
  /// Returns a short list of numbers at each trial, with NaN where the trial is rejected. Returns nothing if they
  /// depend on more than extents.
  using TriedFloats = std::array<double, std::tuple_size_v<Tried>>;
  std::optional<std::vector<TriedFloats>> tried_floats(const Operand& operand);
  std::vector<int64_t> integers(const Node& node, const Operand& operand);

  /// Records in the Model that `node`, which it has as arithmetic on floats, produces codes.
  void note_quantizer(const Node& node);
  /// Records in a survey why a node is not supported.
  void note(const Node& node, const Error& error);

 protected:
  Model& model() { return model_; }

  /// Adds an argument of the model: `declared`, with the extents of the binding. Without `has_rank` the file does not
  /// define the rank. In a survey an unsupported input is recorded and marked as lost.
  Operand add_input(const std::string& name, bool has_rank, const std::function<Declared()>& declared);
  void set_outputs(const std::vector<Operand>& operands, std::vector<std::string> names);

  /// Translates one node. In a survey it returns false if the node is rejected, or if `is_lost` reports that it needs a
  /// lost value. In that case `look_up` rejects an unknown operator.
  bool attempt(const Node& node, bool is_outermost, const std::function<void()>& translate,
               const std::function<bool()>& is_lost, const std::function<void()>& look_up);
  /// Names `operand` as the node's output `name`, or by the first free name of `better`. The Model then records the
  /// name in the file.
  void name_result(const Node& node, const std::string& name, Operand& operand,
                   const std::vector<std::string>& better = {});

 private:
  Operand make_input(const std::string& name, bool has_rank, const std::function<Declared()>& declared);
  /// Return the operand as a value or tensor in the current block.
  Value value_of(const Operand& operand);
  Value tensor_of(const Operand& operand);
  /// Returns the operand as an operation of `node` reads it: elements with dynamic extents become values.
  Operand readable(const Node& node, const Operand& operand);
  /// Inserts an operation whose regions are filled later.
  Op begin_flow(const Node& node, std::string_view op, const std::vector<Operand>& operands, Attributes attributes);
  /// Fills a region and returns its outputs as values. If any output is lost, all are, and the region is not filled.
  std::vector<Operand> fill_region(const Node& node, Block& region, const FillRegion& fill);
  /// Extents of states that iterations change, by position and axis.
  using OpenStates = std::set<std::pair<size_t, size_t>>;
  void add_arguments(Op made, Block& region, const LoopSpec& loop, const OpenStates& opened);
  OpenStates changed_states(const Block& region, const LoopSpec& loop, const std::vector<Operand>& given) const;
  std::vector<Operand> loop_results(Op made, const LoopSpec& loop, const OpenStates& opened,
                                    const std::vector<Operand>& given);
  /// Returns the dynamic extents of an operand at each trial.
  std::vector<std::optional<Tried>> extents_of(const Operand& operand) const;
  OpSpec spec_of(const Node& node, const OpInfo& info, Attributes attributes);
  /// Returns an operand whose next value the operator produces, by its record. Known contents become a tensor of
  /// Role::state that nothing else reads.
  Value state_of(const Operand& operand);
  /// Adds a tensor to the model under that name, or under a similar name if it is taken.
  Value declare(const std::string& wanted, const Tensor& tensor, Role role);
  std::vector<Operand> compute(const OpInfo& info, const Attributes& attributes, const std::vector<Operand>& operands);
  std::vector<Operand> insert(const Node& node, const OpInfo& info, const std::vector<Operand>& operands,
                              Attributes attributes);
  /// Whether the value depends on an argument or on regions.
  static bool depends_on_a_run(Value value);
  /// Computes the contents of a value by running its producers, each operation once.
  Tensor evaluated(Value value);
  Tensor leaf_contents(Value value) const;
  void evaluate_op(Op op);
  /// Returns the contents of a value with dynamic extents set to trial `number`. Returns nothing if it depends on more,
  /// or if an operator rejects these extents.
  Tensor tried_contents(Value value, size_t number);
  Tensor tried_result(Value value, size_t number);
  Tensor tried_positions(Op op, size_t number) const;

  std::string file_;
  Trials trials_;
  const Binding& binding_;
  Model& model_;
  Regions regions_;
  Coverage* survey_;
  std::map<std::pair<const void*, std::string>, Value> tensors_;                  ///< by memory and type
  std::map<const detail::ValueNode*, Tensor> contents_;                           ///< contents of computed values
  std::map<std::pair<const detail::ValueNode*, size_t>, Tensor> tried_contents_;  ///< undefined if unknown
  std::map<std::pair<std::string, std::string>, size_t> noted_;  ///< issues of the survey by operator and reason
  std::set<std::string> made_;                                   ///< operations that the current node inserted
  int number_ = 0;                                               ///< number of the current outermost node, from 1
  std::set<const void*> not_inside_;                             ///< graphs that could not be inlined
  std::map<const void*, OpenStates> opened_;  ///< dynamic states of loops, by the source of their regions
  int64_t translated_ = 0;
  int64_t names_ = 0;
  size_t made_bytes_ = 0;
};

/// Removes unused tensors and verifies the model.
void finish(Model& model);

}  // namespace halfstep::formats
