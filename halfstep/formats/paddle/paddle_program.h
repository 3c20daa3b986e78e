// A Paddle program as both of its formats have it: a ProgramDesc and PIR become the same, but for the names of
// operators, slots and values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::formats::paddle {

/// What a file says of a value.
struct Claim {
  std::optional<DType> dtype;  ///< nothing where Halfstep lacks the type
  std::string type_name;       ///< "float32", as Paddle calls it; "" of what is no tensor
  Dims dims;                   ///< open extents are kUnknown
};

/// Values of an operator that belong together. PIR has no names for its slots: their order says what they are.
struct Slot {
  std::string name;
  std::vector<std::string> values;  ///< "" where one is left out
};

struct Operator {
  std::string type;  ///< "conv2d"
  std::vector<Slot> inputs, outputs;
  Attributes attributes;
  std::vector<size_t> blocks;  ///< inside: positions in Program::blocks
};

struct Block {
  std::vector<std::string> arguments;   ///< values that stand for operands of the operator around
  std::map<std::string, Claim> values;  ///< all that have their home here
  std::vector<Operator> operators;
  std::optional<std::vector<std::string>> results;  ///< what it gives to the operator around, in PIR
};

struct Input {
  std::string name;
  Claim claim;
};

struct Program {
  std::string format;                       ///< of `foreign` entries: "paddle" or "pir"
  int64_t version = 0;                      ///< of Paddle in a ProgramDesc, of the description in PIR
  std::vector<Block> blocks;                ///< the outermost first
  std::vector<Input> inputs;                ///< what is fed
  std::vector<std::string> outputs;         ///< values that are fetched, in order
  std::map<std::string, Claim> parameters;  ///< in the order of their names, which is that of their file
};

}  // namespace halfstep::formats::paddle
