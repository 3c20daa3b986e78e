// What recipes make a network with: chance, the values that are there, and nodes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/random.h"
#include "halfstep/fuzz/networks/random_network.h"

namespace halfstep::fuzz {

/// A value of the network in the making.
struct Known {
  std::string name;  ///< "" stands for an input that is left out
  DType dtype = DType::f32;
  Dims dims = {};
  double low = -1, high = 1;  ///< about where its elements lie
  bool rows = false;          ///< the first axis counts samples, and each row depends on its sample alone
  bool constant = false;      ///< known without inputs

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t size() const { return count_elements(dims); }
  /// The same with other extents.
  Known with(Dims other) const;
  Known with(DType other) const;
  Known between(double lowest, double highest) const;
};

/// What a recipe asks for.
struct Want {
  std::vector<DType> dtypes = {DType::f32};
  int64_t least_rank = 0, most_rank = 5;
  std::function<bool(const Known&)> fits = {};
};

/// Thrown where a recipe has nothing to work on: another one is tried.
struct Unsuited {};

struct Style {
  int64_t opset = 17;
  bool plain = true;       ///< f32 and what platforms have on codes
  bool simple = true;      ///< with `plain`: in the forms in which they have it
  bool rows = true;        ///< every input's first axis counts samples, and operators keep them apart
  bool open_batch = true;  ///< with `rows`: the file does not say how many
  bool same_batch = true;  ///< every input has the same first extent
  bool hostile_names = false;
  int64_t batch = 2;
  int64_t widest = 8;  ///< extent
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
  /// Both included.
  int64_t between(int64_t low, int64_t high);
  double real(double low, double high);
  template <class T>
  T one_of(std::vector<T> choices) {
    return choices[random_.below(choices.size())];
  }
  /// An extent, seldom 0.
  int64_t extent();
  /// `most` at most, so that tensors stay small.
  Dims some_dims(int64_t rank, int64_t most = 2000);

  /// A value of that kind, of late ones rather than early ones; if there is none, or seldom, a new input.
  Known any(const Want& want);
  /// The same of elements between `low` and `high`: where they are not, behind an operator that makes them so.
  Known any_between(const Want& want, double low, double high);
  /// One that is there, or Unsuited.
  Known there(const Want& want);
  Known input(DType dtype, Dims dims, double low = -2, double high = 2);
  /// The same, with axes whose extents the file leaves open; nobody else takes it. `other` are the extents of a run at
  /// others than the samples'.
  Known open_input(Dims dims, std::vector<size_t> open, Dims other);

  /// Random contents; an initializer, a Constant, or computed from one.
  Known weights(DType dtype, Dims dims, double low, double high);
  /// The same, seldom computed from the network's inputs instead; f32.
  Known parameter(Dims dims, double low, double high);
  Known ints(const std::vector<int64_t>& values, DType dtype = DType::i64);
  /// One number, of rank 0 or seldom of rank 1.
  Known scalar(double value, DType dtype = DType::f32);
  Known scalar(double value, DType dtype, Dims dims);
  Known contents(const Tensor& tensor, double low, double high);
  static Known absent() { return {}; }

  /// A node with one result or several; what `results` says of them is believed. rows: of a result, if every operand
  /// that is no constant has them and the first extent is the batch's.
  Known node(std::string_view op, const std::vector<Known>& inputs, const Known& result,
             const Attributes& attributes = {}, const std::string& domain = {});
  std::vector<Known> nodes(std::string_view op, const std::vector<Known>& inputs, std::vector<Known> results,
                           const Attributes& attributes = {}, const std::string& domain = {});
  /// Nobody else takes the value.
  void forget(const Known& value);
  /// The value comes of an operator that has a form on codes in every form of a layer.
  void expect_codes(const Known& value) { network_.on_codes.insert(value.name); }
  bool has_nodes() const { return network_.model.graph().node_size() > 0; }
  /// Of a network that has nodes.
  formats::onnx::proto::Node& last_node();
  /// A name that nothing has.
  std::string fresh_name(std::string_view op);

  /// An axis that is not that of samples, or Unsuited; perhaps counted from the end.
  int64_t axis(const Known& x);
  int64_t perhaps_negative(int64_t axis, int64_t rank) { return chance(0.3) ? axis - rank : axis; }
  /// Whether results of x may mix rows.
  bool keeps_rows(const Known& x) const { return style_.rows && x.rows; }

  /// The network, with outputs.
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
  /// Unless it is to be `varied`, seldom of one value or half of zeros.
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

/// Whether it is a float that networks compute in.
inline const std::vector<DType> kFloats = {DType::f32, DType::f64, DType::f16};

/// Whether it has elements.
inline bool is_full(const Known& x) { return x.size() > 0; }

/// Extents of `a` and `b` broadcast together, or Unsuited.
Dims broadcast(const Dims& a, const Dims& b);

/// Where f of [low, high] lies, about.
std::pair<double, double> image_of(const std::function<double(double)>& f, double low, double high);

}  // namespace halfstep::fuzz
