// Operator records as constants, and their conversion to OpInfo. opgen emits data, because functions that fill strings
// and vectors would take half of the compile time of all operators.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "halfstep/core/ir/op_info.h"

namespace halfstep::ops {

using Text = std::string_view;
template <class T>
using List = std::span<const T>;

/// An Attribute as a constant. `kind` selects the valid field.
struct Literal {
  enum Kind { boolean, integer, real, text, integers, floats, texts };
  Kind kind = boolean;
  int64_t number = 0;  ///< also the value of a boolean
  double value = 0;
  Text string = {};
  List<int64_t> numbers = {};
  List<double> values = {};
  List<Text> strings = {};
};

struct PortRecord {
  Text name, type;
  bool optional = false, variadic = false;
  int state_of = -1;
  Text unless = {};
  bool (*present)(const Attributes&) = nullptr;
};

struct AttributeRecord {
  Text name;
  Literal default_value;
  bool required = false;
  List<Text> choices = {};
};

struct QuantRecord {
  Trait trait = Trait::none;
  Accumulation accumulates = Accumulation::none;
  int weight = -1, weight_axis = 0, factor = -1, bias = -1, fill = -1, index = -1, magnitude = -1;
  Text quantized = {}, integer = {}, activation = {};
  bool lookup = false;
};

struct ForeignRecord {
  Text format, op;
  List<std::pair<Text, Text>> names = {};
  List<std::pair<Text, int>> inputs = {};
  List<std::pair<Text, Literal>> fixed = {}, defaults = {};
  Text domain = {};
  int64_t since = 1, until = std::numeric_limits<int64_t>::max();
};

/// The fields of OpInfo, which documents them.
struct OpRecord {
  Text name, doc, record;
  List<PortRecord> inputs = {}, outputs = {};
  List<Text> regions = {};
  Flow flow = Flow::none;
  List<AttributeRecord> attributes = {};
  std::vector<Type> (*infer)(const OpSite& site) = nullptr;
  int64_t (*flops)(const OpTypes& types) = nullptr;
  GradientKind gradient = GradientKind::none;
  bool elementwise = false;
  Text c_expression = {};
  bool codes = false;
  QuantRecord quant = {};
  List<ForeignRecord> foreign = {};
};

OpInfo info_of(const OpRecord& record);

}  // namespace halfstep::ops
