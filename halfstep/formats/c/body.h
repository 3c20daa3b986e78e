// The body of NAME_run under construction: calls, the values between them, constants and functions. Internal to this
// room.
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

/// Memory of a value, or of one call only.
struct Buffer {
  std::string name;  ///< name of the pointer in NAME_run
  DType dtype = DType::u8;
  int64_t count = 0;
  int first = 0, last = 0;  ///< first and last call that use it
  Storage storage = Storage::arena;
  size_t offset = 0;           ///< offset in the arena
  std::string parameter = {};  ///< for an output: the name of the caller's memory
  size_t bytes() const { return static_cast<size_t>(count) * size_of(dtype); }
};

/// Statements for one operator.
struct CallText {
  std::string comment, text;
  std::string hooks;  ///< statements that pass its results to the hook, or ""
  int depth = 0;      ///< nesting depth of blocks at its beginning
};

/// Returns the indentation inside `depth` blocks and NAME_run.
std::string indentation(int depth);

/// Returns "conv1_w" for a part of a layer. No function or type name ends this way.
std::string name_of(const std::string& layer, const std::string& what);

class Body {
 public:
  /// `names` are those of the file and of NAME_run, which share one scope here.
  Body(const Model& model, Identifiers& names);

  const Model& model() const { return model_; }
  const Tensor& contents(Value tensor) const { return model_.tensors.at(tensor.name()); }
  bool is_image(Value value) const { return images_.contains(value.node()); }
  /// Returns extents in the order of memory.
  Dims stored(Value value) const;

  /// Return the pointer to a value, for the current call.
  std::string read(Value value);
  std::string write(Value value);
  /// Returns memory for this call only.
  std::string scratch(const std::string& hint, DType dtype, int64_t count);
  /// Makes `value` another name of `same`.
  void alias(Value value, Value same);
  /// Adds a value from outside, under the name of a parameter.
  void feed(Value value, const std::string& parameter);
  /// Returns the buffer of a value.
  Buffer& buffer(Value value);

  /// Add static constants and return their names. Their bytes count as flash.
  std::string numbers(const std::string& hint, const std::string& type, std::span<const int64_t> values, size_t each);
  std::string numbers(const std::string& hint, std::span<const float> values);
  /// Adds a struct, or an array of structs if `extent` is "[N]".
  std::string object(const std::string& hint, const std::string& type, const std::string& contents, size_t bytes,
                     const std::string& extent = "");

  /// Adds a statement to the current call.
  void say(const std::string& statement) { statements_ += indentation(depth_) + statement + "\n"; }
  /// Ends a call and passes the values `shown` to the hook.
  void finish(const std::string& comment, const std::vector<Value>& shown = {});
  /// Places all calls until `close` in a block after this statement: "while (on)".
  void open(const std::string& statement);
  void close() { --depth_, say("}"); }
  /// Returns the name of a variable in NAME_run.
  std::string variable(const std::string& hint) { return names_.unique(hint); }

  Kernels kernels;
  std::vector<Buffer> buffers;
  std::vector<CallText> calls;
  std::string constants;
  size_t constant_bytes = 0, weight_bytes = 0;
  bool uses_floats = false;        ///< inside NAME_run
  bool uses_math = false;          ///< uses functions of math.h
  bool counts_iterations = false;  ///< has a loop that only its own condition ends

 private:
  int now() const { return static_cast<int>(calls.size()); }
  size_t add_buffer(const std::string& hint, DType dtype, int64_t count);

  const Model& model_;
  std::set<const detail::ValueNode*> images_;
  std::map<const detail::ValueNode*, size_t> places_;  ///< buffer index of each value
  Identifiers& names_;
  std::string statements_;
  int depth_ = 0;  ///< open blocks
  int begun_ = 0;  ///< open blocks at the start of the call
};

}  // namespace halfstep::formats::c
