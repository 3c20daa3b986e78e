// What NAME_run does, as it grows: calls, the values between them, constants and functions. Internal to this room.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/formats/c/c_text.h"
#include "halfstep/formats/c/kernels.h"

namespace halfstep::formats::c {

enum class Storage { arena, input, output };

/// Memory for a value, or for one call alone.
struct Buffer {
  std::string name;  ///< of the pointer in NAME_run
  DType dtype = DType::u8;
  int64_t count = 0;
  int first = 0, last = 0;  ///< calls that use it
  Storage storage = Storage::arena;
  size_t offset = 0;           ///< in the arena
  std::string parameter = {};  ///< of an output: the name of the caller's memory
  size_t bytes() const { return static_cast<size_t>(count) * size_of(dtype); }
};

/// What is done for one operator.
struct CallText {
  std::string comment, text;
  std::string hooks;  ///< the statements that show its results; "" for none
  int depth = 0;      ///< blocks around its beginning
};

/// So many blocks around a statement, and NAME_run.
std::string indentation(int depth);

/// "conv1_w": what belongs to a layer; no name of a function or a type ends so.
std::string name_of(const std::string& layer, const std::string& what);

class Body {
 public:
  /// `names` are those of the file and of NAME_run, which share one scope here.
  Body(const Model& model, Identifiers& names);

  const Model& model() const { return model_; }
  const Tensor& contents(Value tensor) const { return model_.tensors.at(tensor.name()); }
  bool is_image(Value value) const { return images_.contains(value.node()); }
  /// Extents in the order of memory.
  Dims stored(Value value) const;

  /// The pointer to a value, for the call in the making.
  std::string read(Value value);
  std::string write(Value value);
  /// Memory of this call alone.
  std::string scratch(const std::string& hint, DType dtype, int64_t count);
  /// `value` is `same` under another name.
  void alias(Value value, Value same);
  /// A value that comes from outside, under the name of a parameter.
  void feed(Value value, const std::string& parameter);
  /// The buffer of a value.
  Buffer& buffer(Value value);

  /// Names of static constants. The bytes count as flash.
  std::string numbers(const std::string& hint, const std::string& type, std::span<const int64_t> values, size_t each);
  std::string numbers(const std::string& hint, std::span<const float> values);
  /// A struct, or an array of them where `extent` is "[N]".
  std::string object(const std::string& hint, const std::string& type, const std::string& contents, size_t bytes,
                     const std::string& extent = "");

  /// Adds a statement to the call in the making.
  void say(const std::string& statement) { statements_ += indentation(depth_) + statement + "\n"; }
  /// Ends a call, which shows these values.
  void finish(const std::string& comment, const std::vector<Value>& shown = {});
  /// Calls until `close` are in a block behind this statement: "while (on)".
  void open(const std::string& statement);
  void close() { --depth_, say("}"); }
  /// Of a variable in NAME_run.
  std::string variable(const std::string& hint) { return names_.unique(hint); }

  Kernels kernels;
  std::vector<Buffer> buffers;
  std::vector<CallText> calls;
  std::string constants;
  size_t constant_bytes = 0, weight_bytes = 0;
  bool uses_floats = false;        ///< inside of NAME_run
  bool uses_math = false;          ///< functions of math.h
  bool counts_iterations = false;  ///< a loop that only its own condition ends

 private:
  int now() const { return static_cast<int>(calls.size()); }
  size_t add_buffer(const std::string& hint, DType dtype, int64_t count);

  const Model& model_;
  std::set<const detail::ValueNode*> images_;
  std::map<const detail::ValueNode*, size_t> places_;  ///< the buffer of each value
  Identifiers& names_;
  std::string statements_;
  int depth_ = 0;  ///< blocks that are open
  int begun_ = 0;  ///< those that were when the call began
};

}  // namespace halfstep::formats::c
