// Arrays: what a program in C++ or Python computes with, one operator after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/capture/switches.h"

namespace halfstep::capture {

struct Step;
struct Cell;

/// The thread, where it records what arrays are computed by (trace.h); nullptr where it does not.
const void* recording_thread();

/// What an array holds at one time. It never changes.
struct Content {
  Type type;
  Place place = {};
  Tensor tensor = {};                              ///< undefined in a region that is being traced
  std::shared_ptr<const Step> producer = nullptr;  ///< where gradients go from here; null: nowhere
  size_t port = 0;                                 ///< which of the producer's results it is
  bool differentiable = false;                     ///< a gradient of it, or of what it was computed from, may be asked
  std::weak_ptr<Cell> leaf = {};                   ///< the array that keeps the gradient of it
  const void* maker = recording_thread();          ///< who computed it, or made it of numbers
  std::string origin = {};                         ///< of what is traced in a region: where it was made, for messages
};
using ContentPtr = std::shared_ptr<const Content>;

/// Elements of one type in row-major order at a place, as NumPy and PyTorch have them. Copies of an Array are the same
/// array: what is assigned to one is seen in all. No two arrays share elements, a slice is a copy.
///
/// Not for several threads at once, unless all of them only read.
class Array {
 public:
  /// No array: an operand that is left out.
  Array() = default;
  explicit Array(const Tensor& contents, Place place = switches().place);
  explicit Array(ContentPtr content);

  explicit operator bool() const { return cell_ != nullptr; }
  const Type& type() const { return content()->type; }
  const Dims& dims() const { return type().dims; }
  DType dtype() const { return type().dtype; }
  Place place() const { return content()->place; }
  /// Its elements in host memory, which nobody may write. While a function is captured, asking for them is an error:
  /// see `decide` in trace.h. Throws Error for a value of a region that is traced.
  const Tensor& tensor() const;

  /// Whether gradients of it, or of what it was computed from, may be asked for.
  bool is_differentiable() const { return content()->differentiable; }
  /// Whether it keeps the gradients that `backward` finds: a parameter.
  bool requires_gradient() const;
  /// Of floats; cuts it off from what it was computed from. Throws Error.
  void require_gradient(bool required = true);
  /// No array where there is none.
  Array gradient() const;
  void set_gradient(Array gradient);

  /// What `value` holds now is what this holds; where gradients are switched off they do not pass. Throws Error where
  /// type or place differ, and for a parameter unless gradients are switched off.
  void assign(const Array& value);

  const ContentPtr& content() const;
  const std::shared_ptr<Cell>& cell() const { return cell_; }
  bool is(const Array& other) const { return cell_ == other.cell_; }

 private:
  friend struct Cell;
  explicit Array(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}

  std::shared_ptr<Cell> cell_;
};

/// What all copies of an Array share.
struct Cell : std::enable_shared_from_this<Cell> {
  explicit Cell(ContentPtr first);

  ContentPtr content;
  Array gradient;
  bool requires_gradient = false;
  uint64_t born;  ///< counts events of the process, as Step::order does

  Array array() { return Array(shared_from_this()); }
  /// What becomes of a value in it: in a parameter gradients end.
  ContentPtr held(Content value);
};

/// The number of the next event of the process.
uint64_t next_event();

using Arrays = std::vector<Array>;

}  // namespace halfstep::capture

namespace halfstep {
using capture::Array;
}
