// A Paddle program, independent of its format. A ProgramDesc and PIR become the same structure, except for the names of
// operators, slots and values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::formats::paddle {

/// Declaration of a value in a file.
struct Claim {
  std::optional<DType> dtype;  ///< nothing if Halfstep lacks the type
  std::string type_name;       ///< Paddle's name, such as "float32", or "" unless it is a tensor
  Dims dims;                   ///< kUnknown marks a dynamic extent
};

/// Values of an operator that belong together. PIR has no names for slots and identifies them by order.
struct Slot {
  std::string name;
  std::vector<std::string> values;  ///< "" for an omitted value
};

struct Operator {
  std::string type;  ///< "conv2d"
  std::vector<Slot> inputs, outputs;
  Attributes attributes;
  std::vector<size_t> blocks;  ///< positions of nested blocks in Program::blocks
};

struct Block {
  std::vector<std::string> arguments;   ///< values that represent operands of the enclosing operator
  std::map<std::string, Claim> values;  ///< all values declared in this block
  std::vector<Operator> operators;
  std::optional<std::vector<std::string>> results;  ///< results for the enclosing operator, in PIR
};

struct Input {
  std::string name;
  Claim claim;
};

struct Program {
  std::string format;                       ///< format of `foreign` entries: "paddle" or "pir"
  int64_t version = 0;                      ///< version of Paddle in a ProgramDesc, of the description in PIR
  std::vector<Block> blocks;                ///< outermost block first
  std::vector<Input> inputs;                ///< fed values
  std::vector<std::string> outputs;         ///< fetched values, in order
  std::map<std::string, Claim> parameters;  ///< in the order of their names, which is the order in their file
};

}  // namespace halfstep::formats::paddle
