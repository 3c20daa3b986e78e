// Builds our graph while a foreign one is translated, and runs it where a value is asked for.
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

/// What is missing can be had: by giving inputs, or extents.
bool needs_values(const Diagnostic& diagnostic);
bool needs_values(const Error& error);
bool needs_extents(const Diagnostic& diagnostic);

/// What a file says of an input.
struct Declared {
  Type type;
  std::vector<std::string> extents = {};  ///< what the file calls them: "" where it does not
};

struct RecordEntry;

/// Fills a region: from what its arguments stand for to its outputs.
using FillRegion = std::function<std::vector<Operand>(const std::vector<Operand>&)>;

/// A `while` or a `scan`: the first condition, if any, then the states, then what is scanned.
struct LoopSpec {
  std::string_view op;
  std::vector<Operand> conditions, states, scanned;
};

class Builder {
 public:
  /// With `survey` nothing is refused but noted there, and the model is worthless. `file` is its name.
  Builder(std::string file, const Binding& binding, Model& model, Coverage* survey);

  const Binding& binding() const { return binding_; }
  /// Whether values of inputs are given.
  bool has_values() const { return !binding_.values.empty(); }
  bool surveys() const { return survey_ != nullptr; }
  const Trials& trials() const { return trials_; }
  /// Where operations are put.
  const Block& block() const { return regions_.block() != nullptr ? *regions_.block() : model_.graph.body(); }

  /// One of our operators on operands by flat position; results by port. Computed at once where all is known.
  std::vector<Operand> make(const Node& node, std::string_view op, std::vector<Operand> operands,
                            Attributes attributes = {});
  /// The only result.
  Operand make_one(const Node& node, std::string_view op, std::vector<Operand> operands, Attributes attributes = {});
  /// An operation with regions, one for each of `fill`, whose arguments have the types `arguments`; results by place.
  /// What a region needs of the graph around comes behind `operands` by itself.
  std::vector<Operand> make_branches(const Node& node, const Operand& condition, const std::vector<FillRegion>& fill);
  /// A loop or a scan, whose region is made of `body`. It is filled again where iterations change an extent of a state:
  /// then all that is made of the state holds for any such extent.
  std::vector<Operand> make_loop(const Node& node, const LoopSpec& loop, const void* body, const FillRegion& fill);
  /// Calls `translate`. False, and nothing of it is there, where something is not supported or not known.
  bool tried(const std::function<void()>& translate);
  /// The same of a graph inside that goes into its place. One of which that failed once is not tried again: with graphs
  /// in each other each level would double the work.
  bool tried_inside(const void* graph, const std::function<void()>& translate);
  /// Calls `as_regions`, of a graph of which only a run tells whether or how often it runs; `in_place` where that
  /// cannot be and inputs are given, which tell it now.
  void regions_or(const std::function<void()>& as_regions, const std::function<void()>& in_place);
  /// As `integers`, of what decides which nodes are translated; throws depends_on_values where it depends on inputs,
  /// unless `with_inputs`: then those that are given count.
  int64_t decision(const Node& node, const Operand& operand, bool with_inputs);
  /// As a `foreign` entry of a record says; results by port.
  std::vector<Operand> by_entry(const Node& node, const std::vector<Operand>& inputs, const RecordEntry& entry);
  /// `operand` under other extents; 0 keeps one, -1 is worked out.
  Operand reshaped(const Node& node, const Operand& operand, Dims dims);
  static Operand known(Tensor tensor, std::string name = {});
  static Operand lost();

  /// Contents, computed where they are not known. Throws where the values, the extents or the input is missing.
  Tensor contents(const Operand& operand);
  /// A short list of integers, or one, of which some may depend on open extents; nothing where they depend on more.
  std::optional<Elements> elements(const Operand& operand);
  /// The same of what is not known throughout.
  std::optional<Elements> open_elements(const Operand& operand) {
    return operand.known() ? std::nullopt : elements(operand);
  }
  /// A short list of numbers at each try, NaN where it is refused; nothing where they depend on more than extents.
  using TriedReals = std::array<double, std::tuple_size_v<Tried>>;
  std::optional<std::vector<TriedReals>> tried_reals(const Operand& operand);
  std::vector<int64_t> integers(const Node& node, const Operand& operand);

  /// Says of the Model that `node`, which it has as arithmetic on floats, makes codes.
  void note_quantizer(const Node& node);
  /// In a survey: what a node lacks.
  void note(const Node& node, const Error& error);

 protected:
  Model& model() { return model_; }

  /// An argument of the model: `declared`, under what the binding says. Without `has_rank` the file leaves open how
  /// many extents there are. In a survey an input that is not supported is noted and lost.
  Operand add_input(const std::string& name, bool has_rank, const std::function<Declared()>& declared);
  void set_outputs(const std::vector<Operand>& operands, std::vector<std::string> names);

  /// Translates one node; false where it is refused in a survey, or `is_lost` says that it needs what was. Then
  /// `look_up` refuses an operator that is not there.
  bool attempt(const Node& node, bool is_outermost, const std::function<void()>& translate,
               const std::function<bool()>& is_lost, const std::function<void()>& look_up);
  /// `operand` as the node's output `name`: what made it is called so, or by the first of `better` that is free; the
  /// Model then notes what the file calls it.
  void name_result(const Node& node, const std::string& name, Operand& operand,
                   const std::vector<std::string>& better = {});

 private:
  Operand make_input(const std::string& name, bool has_rank, const std::function<Declared()>& declared);
  /// In the block at hand.
  Value value_of(const Operand& operand);
  Value tensor_of(const Operand& operand);
  /// As an operation of `node` reads it: open elements become values.
  Operand readable(const Node& node, const Operand& operand);
  /// An operation whose regions are still to be filled.
  Op begin_flow(const Node& node, std::string_view op, const std::vector<Operand>& operands, Attributes attributes);
  /// Fills a region; what it gives, as values. Where something of it is lost all is, and the region is not filled.
  std::vector<Operand> fill_region(const Node& node, Block& region, const FillRegion& fill);
  /// Extents of states, by place and axis, that iterations change.
  using OpenStates = std::set<std::pair<size_t, size_t>>;
  void add_arguments(Op made, Block& region, const LoopSpec& loop, const OpenStates& opened);
  OpenStates changed_states(const Block& region, const LoopSpec& loop, const std::vector<Operand>& given) const;
  std::vector<Operand> loop_results(Op made, const LoopSpec& loop, const OpenStates& opened,
                                    const std::vector<Operand>& given);
  /// What open extents of an operand come to.
  std::vector<std::optional<Tried>> extents_of(const Operand& operand) const;
  OpSpec spec_of(const Node& node, const OpInfo& info, Attributes attributes);
  /// An operand that the operator has a next value of, by its record: contents that are known become a tensor of
  /// Role::state, which nothing else reads.
  Value state_of(const Operand& operand);
  /// A tensor of the model under that name, or where it is taken one like it.
  Value declare(const std::string& wanted, const Tensor& tensor, Role role);
  std::vector<Operand> compute(const OpInfo& info, const Attributes& attributes, const std::vector<Operand>& operands);
  std::vector<Operand> insert(const Node& node, const OpInfo& info, const std::vector<Operand>& operands,
                              Attributes attributes);
  /// Whether it comes from an argument, or from regions.
  static bool depends_on_a_run(Value value);
  /// Contents of a value of our graph, by running what it comes from, each operation once.
  Tensor evaluated(Value value);
  Tensor leaf_contents(Value value) const;
  void evaluate_op(Op op);
  /// What a value is where the open extents are one of those that are tried; nothing where it depends on more, or no
  /// operator takes these extents.
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
  std::map<const detail::ValueNode*, Tensor> contents_;                           ///< of values that were computed
  std::map<std::pair<const detail::ValueNode*, size_t>, Tensor> tried_contents_;  ///< undefined where there are none
  std::map<std::pair<std::string, std::string>, size_t> noted_;  ///< issues of the survey by operator and reason
  std::set<std::string> made_;                                   ///< operations that the node at hand has made
  int number_ = 0;                                               ///< of the outermost node at hand, from 1
  std::set<const void*> not_inside_;                             ///< graphs that could not go into their places
  std::map<const void*, OpenStates> opened_;                     ///< of loops, by what their regions are made of
  int64_t translated_ = 0;
  int64_t names_ = 0;
  size_t made_bytes_ = 0;
};

/// Takes away the tensors that nothing uses, and checks the rest.
void finish(Model& model);

}  // namespace halfstep::formats
