// Builder of random networks for the recipes: random numbers, available values, and nodes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/random.h"
#include "halfstep/fuzz/networks/random_network.h"

namespace halfstep::fuzz {

/// A value of the network under construction.
struct Known {
  std::string name;  ///< "" for an omitted input
  DType dtype = DType::f32;
  Dims dims = {};
  double low = -1, high = 1;  ///< approximate range of its elements
  bool rows = false;          ///< the first axis counts samples, and each row depends only on its sample
  bool constant = false;      ///< computed without inputs

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t size() const { return count_elements(dims); }
  /// A copy with other extents.
  Known with(Dims other) const;
  Known with(DType other) const;
  Known between(double lowest, double highest) const;
};

/// The properties of a requested value.
struct Want {
  std::vector<DType> dtypes = {DType::f32};
  int64_t least_rank = 0, most_rank = 5;
  std::function<bool(const Known&)> fits = {};
};

/// Thrown if a recipe finds no suitable operands. Another recipe is tried.
struct Unsuited {};

struct Style {
  int64_t opset = 17;
  bool plain = true;          ///< f32, with operators that platforms have on codes
  bool simple = true;         ///< with `plain`: only in the forms that platforms support
  bool rows = true;           ///< the first axis of every input counts samples, and operators keep samples separate
  bool dynamic_batch = true;  ///< with `rows`: the number of samples is dynamic in the file
  bool same_batch = true;     ///< every input has the same first extent
  bool hostile_names = false;
  int64_t batch = 2;
  int64_t widest = 8;  ///< largest extent
};

class Maker {
 public:
  Maker(uint64_t seed, const Style& style);

  const Style& style() const { return style_; }
  int64_t opset() const { return style_.opset; }
  void require(bool condition) const {
    if (!condition) throw Unsuited();
  }

  bool chance(double probability) { return random_.uniform() < probability; }
  /// Both ends are included.
  int64_t between(int64_t low, int64_t high);
  double real(double low, double high);
  template <class T>
  T one_of(std::vector<T> choices) {
    return choices[random_.below(choices.size())];
  }
  /// A random extent, rarely 0.
  int64_t extent();
  /// At most `most` elements, so that tensors stay small.
  Dims some_dims(int64_t rank, int64_t most = 2000);

  /// A matching value, preferably a recent one. A new input if there is none, and rarely otherwise.
  Known any(const Want& want);
  /// Like `any`, with elements between `low` and `high`. If necessary, adds an operator that limits them.
  Known any_between(const Want& want, double low, double high);
  /// An existing value. Throws Unsuited if there is none.
  Known there(const Want& want);
  Known input(DType dtype, Dims dims, double low = -2, double high = 2);
  /// An input with dynamic dimensions that no other recipe uses. `other` are the extents of an additional run.
  Known open_input(Dims dims, std::vector<size_t> open, Dims other);

  /// Random contents: an initializer, a Constant, or computed from one.
  Known weights(DType dtype, Dims dims, double low, double high);
  /// f32 weights, rarely computed from the network's inputs instead.
  Known parameter(Dims dims, double low, double high);
  Known ints(const std::vector<int64_t>& values, DType dtype = DType::i64);
  /// A number of rank 0, rarely of rank 1.
  Known scalar(double value, DType dtype = DType::f32);
  Known scalar(double value, DType dtype, Dims dims);
  Known contents(const Tensor& tensor, double low, double high);
  static Known absent() { return {}; }

  /// Adds a node with one or several results. The properties in `results` are not checked. A result has `rows` if every
  /// operand that is not constant has them and its first extent is the batch.
  Known node(std::string_view op, const std::vector<Known>& inputs, const Known& result,
             const Attributes& attributes = {}, const std::string& domain = {});
  std::vector<Known> nodes(std::string_view op, const std::vector<Known>& inputs, std::vector<Known> results,
                           const Attributes& attributes = {}, const std::string& domain = {});
  /// Hides the value from other recipes.
  void forget(const Known& value);
  /// Declares that the operator of the value has a form on codes whatever the form of its layer.
  void expect_codes(const Known& value) { network_.on_codes.insert(value.name); }
  bool has_nodes() const { return network_.model.graph().node_size() > 0; }
  /// The network must have nodes.
  formats::onnx::proto::Node& last_node();
  /// An unused name.
  std::string fresh_name(std::string_view op);

  /// An axis other than that of samples, possibly counted from the end. Throws Unsuited if there is none.
  int64_t axis(const Known& x);
  int64_t perhaps_negative(int64_t axis, int64_t rank) { return chance(0.3) ? axis - rank : axis; }
  /// Whether results of x must keep rows separate.
  bool keeps_rows(const Known& x) const { return style_.rows && x.rows; }

  /// The finished network, with outputs.
  Network finish(int64_t samples);

 private:
  struct Input {
    Known value;
    double low, high;
    std::vector<size_t> open = {};
    Dims other = {};
  };

  std::vector<const Known*> suited(const Want& want) const;
  Known fitting_input(const Want& want);
  std::vector<double> some_spread(int64_t samples);
  Tensor random_samples(const Input& input, const Dims& dims, const std::vector<double>& spread);
  /// Random elements. Unless `varied`, sometimes all are equal or half are zero.
  Tensor random_tensor(DType dtype, const Dims& dims, double low, double high, bool varied = false);
  Known remember(Known value);
  void add_output(const Known& value);
  void add_imports();

  Random random_;
  Style style_;
  Network network_;
  std::vector<Known> pool_;
  std::set<std::string> names_, read_, outputs_, domains_;
  std::vector<Input> inputs_;
};

/// Float types that networks compute in.
inline const std::vector<DType> kFloats = {DType::f32, DType::f64, DType::f16};

/// Whether it has elements.
inline bool is_full(const Known& x) { return x.size() > 0; }

/// Extents of `a` and `b` broadcast together. Throws Unsuited if they do not broadcast.
Dims broadcast(const Dims& a, const Dims& b);

/// Approximate range of f over [low, high].
std::pair<double, double> image_of(const std::function<double(double)>& f, double low, double high);

}  // namespace halfstep::fuzz
