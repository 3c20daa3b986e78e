// A record as the emitters read it: complete, checked, with resolved references.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/dtype.h"
#include "opgen/expr.h"
#include "opgen/yaml.h"

namespace halfstep::opgen {

/// A set of dtypes under a name: "float", "u8 or i8".
struct TypeClass {
  std::string name;
  std::vector<DType> dtypes;
  bool admits_float() const;
};

/// How a port gets its dtype.
struct TypeSpec {
  enum class Kind { classed, variable, attribute, like, first };
  Kind kind = Kind::classed;
  TypeClass type_class;                ///< classed
  std::string name;                    ///< the variable, the attribute, or the port that it is like
  std::vector<TypeSpec> choices = {};  ///< first: of an output, those to ask in turn; the last one always answers
};

/// How a port gets its extents; an input without one may have any.
struct DimsSpec {
  Source source;
  bool like = false;  ///< those of the port `name`
  std::string name;
  std::optional<Expr> function;  ///< a call of a shape function
  std::vector<Expr> extents;     ///< else one by one
  std::vector<std::string> texts;
  bool open = false;  ///< any further ones
};

struct Port {
  Source source;
  std::string name;
  TypeSpec type;
  std::optional<DimsSpec> dims;
  bool variadic = false, optional = false;
  std::string unless;             ///< condition over attributes that takes it away; "" for none
  std::optional<Expr> condition;  ///< the same, parsed
  std::string state_of;           ///< input port; "" for none
  bool always_there() const { return !optional && unless.empty(); }
};

struct AttributeSpec {
  Source source;
  std::string name, doc;
  Attribute value;  ///< the default; of a required one only its alternative counts
  bool required = false;
  std::vector<std::string> choices;
};

struct NamedExpr {
  Source source;
  std::string name, text;
  Expr expr;
};

struct Gradient {
  enum class Rule { none, derivative, straight_through };
  Rule rule = Rule::none;
  std::string unless;             ///< bool attribute under which there is none
  std::string why_none;           ///< why there is none at all, where the record says so
  std::vector<NamedExpr> inputs;  ///< those that have one, in port order; scalar expressions are replaced by calls
};

struct Quant {
  Source source;
  std::string trait, accumulates, weight, factor, bias, fill, index, magnitude, quantized, integer, activation;
  int64_t axis = 0;
  bool lookup = false;
};

struct Foreign {
  Source source;
  std::string format, op;
  std::vector<std::pair<std::string, std::string>> names = {};   ///< ours, theirs
  std::vector<std::pair<std::string, int64_t>> inputs = {};      ///< ours, position of the foreign input
  std::vector<std::pair<std::string, Attribute>> fixed = {};     ///< attributes with the value they always have
  std::vector<std::pair<std::string, Attribute>> defaults = {};  ///< and with that for an absent foreign one
  std::string domain = {};
  int64_t since = 1;
  std::optional<int64_t> until = {};
};

/// One application of the operator: dtype and dims by input port, attributes as given.
struct Case {
  std::map<std::string, std::vector<std::pair<DType, std::vector<int64_t>>>> inputs;
  Attributes attributes;
  bool operator==(const Case&) const = default;
};

struct Test {
  std::vector<Case> cases;
  std::map<std::string, std::vector<double>> domain, special, values;
  std::optional<double> tolerance;
  std::vector<std::string> bitwise;
  bool gradient = true;
  std::string gradient_why;
  std::vector<std::pair<std::string, Case>> rejects;  ///< rule, the first case with its changes
};

struct Record {
  Source source;
  std::string name, doc, file_stem;
  std::map<std::string, TypeClass> type_variables;
  std::vector<Port> inputs, outputs;
  std::vector<AttributeSpec> attributes;
  std::vector<std::string> extents;  ///< names that the dims of inputs bind, in order
  std::vector<NamedExpr> lets, rules;
  std::optional<NamedExpr> compute;
  std::optional<NamedExpr> flops;  ///< of ports alone
  Gradient gradient;
  std::optional<Quant> quant;
  std::vector<Foreign> foreign;
  std::vector<std::string> cpu_kernels, cuda_kernels, regions;
  std::string flow;  ///< how it runs its regions; "" of an operator without
  std::optional<Test> test;
  bool says_elementwise = false;
  std::optional<bool> says_codes;

  bool is_elementwise() const { return says_elementwise || compute; }
  bool has_gradient_of_regions() const { return !flow.empty() && gradient.why_none.empty(); }
  bool has_codes() const;

  const Port* input(std::string_view port) const;
  const Port* output(std::string_view port) const;
  const AttributeSpec* attribute(std::string_view attribute) const;
  std::vector<std::string> attribute_names() const;
};

/// Records in the order of their files; addresses stay.
using Records = std::deque<Record>;

const Record* find(const Records& records, std::string_view name);

/// "ops/conv.yaml:12", as OpInfo::record.
std::string record_place(const Record& record);

std::vector<DType> all_dtypes();

/// The dtypes of a class ("float", "whole", "number", ..., "any") or of one dtype's name; nothing for another
/// text.
std::optional<TypeClass> find_type_class(std::string_view text);

}  // namespace halfstep::opgen
