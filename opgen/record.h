// A complete, checked record with resolved references, as input for the emitters.
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

/// A named set of dtypes: "float", "u8 or i8".
struct TypeClass {
  std::string name;
  std::vector<DType> dtypes;
  bool admits_float() const;
};

/// Source of a port's dtype.
struct TypeSpec {
  enum class Kind { classed, variable, attribute, like, first };
  Kind kind = Kind::classed;
  TypeClass type_class;                ///< classed
  std::string name;                    ///< name of the variable, of the attribute, or of the port that this one is like
  std::vector<TypeSpec> choices = {};  ///< first: choices of an output in order; the last one always has a dtype
};

/// Source of a port's extents. An input without one accepts any extents.
struct DimsSpec {
  Source source;
  bool like = false;  ///< extents of the port `name`
  std::string name;
  std::optional<Expr> function;  ///< call of a shape function
  std::vector<Expr> extents;     ///< otherwise: one expression per extent
  std::vector<std::string> texts;
  bool open = false;  ///< allows further extents
};

struct Port {
  Source source;
  std::string name;
  TypeSpec type;
  std::optional<DimsSpec> dims;
  bool variadic = false, optional = false;
  std::string unless;             ///< condition over attributes that removes the port; "" if none
  std::optional<Expr> condition;  ///< parsed form of `unless`
  std::string state_of;           ///< input port; "" if none
  bool always_there() const { return !optional && unless.empty(); }
};

struct AttributeSpec {
  Source source;
  std::string name, doc;
  Attribute value;  ///< the default; for a required attribute only the type is valid
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
  std::string unless;             ///< bool attribute that disables the gradient
  std::string why_none;           ///< reason for a missing gradient, if the record states one
  std::vector<NamedExpr> inputs;  ///< inputs with a gradient, in port order; scalar expressions are replaced by calls
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
  std::vector<std::pair<std::string, std::string>> names = {};   ///< pairs of our name and the foreign name
  std::vector<std::pair<std::string, int64_t>> inputs = {};      ///< pairs of our name and the position of the foreign
                                                                 ///< input
  std::vector<std::pair<std::string, Attribute>> fixed = {};     ///< attributes with a fixed value
  std::vector<std::pair<std::string, Attribute>> defaults = {};  ///< attributes with the value for an absent foreign
                                                                 ///< attribute
  std::string domain = {};
  int64_t since = 1;
  std::optional<int64_t> until = {};
};

/// A test application of the operator: dtype and dims by input port, and attributes as given.
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
  std::vector<std::pair<std::string, Case>> rejects;  ///< pairs of a rule and the first case with the changes that
                                                      ///< violate it
};

struct Record {
  Source source;
  std::string name, doc, file_stem;
  std::map<std::string, TypeClass> type_variables;
  std::vector<Port> inputs, outputs;
  std::vector<AttributeSpec> attributes;
  std::vector<std::string> extents;  ///< names bound by the dims of inputs, in order
  std::vector<NamedExpr> lets, rules;
  std::optional<NamedExpr> compute;
  std::optional<NamedExpr> flops;  ///< number of operations, an expression of ports
  Gradient gradient;
  std::optional<Quant> quant;
  std::vector<Foreign> foreign;
  std::vector<std::string> cpu_kernels, cuda_kernels, regions;
  std::string flow;  ///< way in which it runs its regions; "" without regions
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

/// Records in file order. Their addresses are stable.
using Records = std::deque<Record>;

const Record* find(const Records& records, std::string_view name);

/// Returns the location "ops/conv.yaml:12", as in OpInfo::record.
std::string record_place(const Record& record);

std::vector<DType> all_dtypes();

/// Returns the dtypes of a class ("float", "whole", "number", ..., "any") or of a single dtype name. Returns nullopt
/// for another text.
std::optional<TypeClass> find_type_class(std::string_view text);

}  // namespace halfstep::opgen
