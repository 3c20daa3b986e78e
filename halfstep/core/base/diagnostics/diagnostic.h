// One thing that is wrong with a request: which rule of the catalogue, where, and what to do about it.
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

enum class ErrorKind {
  bad_input,    ///< wrong use, or a file that is not what it should be; exit code 2
  unsupported,  ///< a correct request that Halfstep or the target cannot do; exit code 3
  interrupted,  ///< the caller asked to stop; exit code 130
  internal      ///< a defect of Halfstep; the message says "this is a bug"; exit code 70
};

/// One error of the catalogue, which is the errors.yaml of the room that raises it. In `where` to `remedy` a name in
/// braces stands for a value: "{size} pixels".
struct ErrorEntry {
  std::string_view id;    ///< "HS2107"; never given to another error
  std::string_view name;  ///< "image_smaller_than_crop", as in namespace errors
  std::string_view room;  ///< that raises it: "data/datasets"
  ErrorKind kind;
  std::string_view title;                   ///< one line without values
  std::span<const std::string_view> takes;  ///< names of the values, in the order of the function's parameters
  std::string_view where, problem, found, expected, remedy;
  std::string_view explanation;  ///< why it is raised and how to go on, for the page and `explain`
};

/// A value in a diagnostic: text, or a number in its shortest form. Nothing is inline, since every place that raises an
/// error makes some.
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

/// Empty parts are left out of the message.
struct Diagnostic {
  std::string layer = {};     ///< the operation; "" where it is about the whole network
  std::string where = {};     ///< "net.onnx: node 'conv4'"
  std::string problem = {};   ///< a clause: "the network is quantized already"; or the rule: "weights on magik_t40"
  std::string found = {};     ///< the value that is there
  std::string expected = {};  ///< values that are right
  std::string remedy = {};    ///< an instruction
  const ErrorEntry* entry = nullptr;  ///< never null in an Error
  bool operator==(const Diagnostic&) const = default;

  /// The parts by their names, from layer to remedy.
  std::array<std::pair<const char*, const std::string*>, 6> parts() const;
  ErrorKind kind() const { return entry->kind; }
  /// Whether one sentence does for both places.
  bool says_the_same_as(const Diagnostic& other) const;
  /// "problem: found FOUND, expected EXPECTED; REMEDY".
  std::string reason() const;
  /// "WHERE: REASON".
  std::string message() const;
};

/// The entry's texts with these values, one for each name that it takes.
Diagnostic fill(const ErrorEntry& entry, std::span<const Text> values);
inline Diagnostic fill(const ErrorEntry& entry, std::initializer_list<Text> values) {
  return fill(entry, std::span(values.begin(), values.size()));
}

}  // namespace halfstep
