// One problem of a request: the rule of the error catalogue, the place, and the remedy.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace halfstep {

/// Kind of an error. It determines the exit code of the program.
enum class ErrorKind {
  bad_input,    ///< wrong use, or an invalid file; exit code 2
  unsupported,  ///< a valid request that Halfstep or the target cannot do; exit code 3
  interrupted,  ///< the caller asked to stop; exit code 130
  internal      ///< a defect of Halfstep; the message contains "this is a bug"; exit code 70
};

/// One entry of the error catalogue. Each room lists its entries in its errors.yaml. In the texts from `where` to
/// `remedy`, a name in braces is a placeholder for a value: "{size} pixels".
struct ErrorEntry {
  std::string_view id;    ///< "HS2107"; an id is never reused
  std::string_view name;  ///< "image_smaller_than_crop", the function name in namespace errors
  std::string_view room;  ///< room that raises it: "data/datasets"
  ErrorKind kind;
  std::string_view title;                   ///< one line without placeholders
  std::span<const std::string_view> takes;  ///< names of the values, in the order of the parameters of the function in
                                            ///< namespace errors
  std::string_view where, problem, found, expected, remedy;
  std::string_view explanation;  ///< cause and remedy, for the documentation page and `explain`
};

/// A value in a diagnostic: text, or a number in its shortest form. No member is inline, because every place that
/// raises an error creates some of them.
class Text {
 public:
  Text(const std::string& text);
  Text(std::string_view text);
  Text(const char* text);
  template <std::signed_integral T>
  requires(!std::same_as<T, char>) Text(T number) : Text(Signed{number}) {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Text(T number) : Text(Unsigned{number}) {}
  Text(float number);
  Text(double number);
  Text(const Text&);
  ~Text();
  const std::string& get() const { return text_; }

 private:
  struct Signed {
    int64_t number;
  };
  struct Unsigned {
    uint64_t number;
  };
  explicit Text(Signed whole);
  explicit Text(Unsigned whole);

  std::string text_;
};

/// Contents of an error message. Empty parts are omitted from the message.
struct Diagnostic {
  std::string layer = {};     ///< operation; "" if the problem concerns the whole network
  std::string where = {};     ///< "net.onnx: node 'conv4'"
  std::string problem = {};   ///< a clause: "the network is quantized already"; or the violated rule: "weights on
                              ///< magik_t40"
  std::string found = {};     ///< actual value
  std::string expected = {};  ///< allowed values
  std::string remedy = {};    ///< an instruction
  const ErrorEntry* entry = nullptr;  ///< never null in an Error
  bool operator==(const Diagnostic&) const = default;

  /// Returns all parts with their names, from layer to remedy.
  std::array<std::pair<const char*, const std::string*>, 6> parts() const;
  ErrorKind kind() const { return entry->kind; }
  /// Whether both differ at most in their place, so that one sentence can report them.
  bool says_the_same_as(const Diagnostic& other) const;
  /// "problem: found FOUND, expected EXPECTED; REMEDY".
  std::string reason() const;
  /// "WHERE: REASON".
  std::string message() const;
};

/// Fills the placeholders of the entry's texts. `values` has one value for each name in `takes`, in that order.
Diagnostic fill(const ErrorEntry& entry, std::span<const Text> values);
inline Diagnostic fill(const ErrorEntry& entry, std::initializer_list<Text> values) {
  return fill(entry, std::span(values.begin(), values.size()));
}

}  // namespace halfstep
