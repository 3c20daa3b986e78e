// Arrays: values that a C++ or Python program computes with, one operator after the other.
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

/// Identifies the thread while it records how arrays are computed (tracing.h), else nullptr.
const void* recording_thread();

/// Contents of an array at one time. Immutable.
struct Content {
  Type type;
  Place place = {};
  Tensor tensor = {};                              ///< undefined while a region is traced
  std::shared_ptr<const Step> producer = nullptr;  ///< step that gradients continue to, or null
  size_t port = 0;                                 ///< index among the producer's results
  bool differentiable = false;                     ///< whether the gradient of this value, or of a value it was
                                                   ///< computed from, may be requested
  std::weak_ptr<Cell> leaf = {};                   ///< array that keeps its gradient
  const void* maker = recording_thread();          ///< thread that computed it or made it of numbers
  std::string origin = {};                         ///< for a traced value of a region: where it was made, for messages
};
using ContentPtr = std::shared_ptr<const Content>;

/// Elements of one type in row-major order on a device, as in NumPy and PyTorch. Copies of an Array are the same array:
/// an assignment to one is visible in all. Two different arrays never share elements. A slice is a copy.
///
/// Not thread-safe, except for reads.
class Array {
 public:
  /// An empty array: an omitted operand.
  Array() = default;
  explicit Array(const Tensor& contents, Place place = switches().place);
  explicit Array(ContentPtr content);

  explicit operator bool() const { return cell_ != nullptr; }
  const Type& type() const { return content()->type; }
  const Dims& dims() const { return type().dims; }
  DType dtype() const { return type().dtype; }
  Place place() const { return content()->place; }
  /// Its elements in host memory, read-only. While a function is captured, call `decide` (tracing.h) before code
  /// depends on them. Throws Error for a value of a traced region.
  const Tensor& tensor() const;

  /// Whether gradients of this array, or of an array it was computed from, may be requested.
  bool is_differentiable() const { return content()->differentiable; }
  /// Whether the array keeps the gradients that `backward` computes: it is a parameter.
  bool requires_gradient() const;
  /// Makes a float array a parameter and detaches it from its producer. Throws Error for other types.
  void require_gradient(bool required = true);
  /// Empty if there is no gradient.
  Array gradient() const;
  /// Replaces the gradient. An empty array removes it. Throws Error for another type.
  void set_gradient(Array gradient);

  /// Sets this array to the current contents of `value`. Gradients do not pass while they are switched off. Throws
  /// Error if type or device differ, or for a parameter while gradients are on.
  void assign(const Array& value);

  const ContentPtr& content() const;
  const std::shared_ptr<Cell>& cell() const { return cell_; }
  /// Whether both are copies of the same array.
  bool is(const Array& other) const { return cell_ == other.cell_; }

 private:
  friend struct Cell;
  explicit Array(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}

  std::shared_ptr<Cell> cell_;
};

/// State shared by all copies of an Array.
struct Cell : std::enable_shared_from_this<Cell> {
  explicit Cell(ContentPtr first);

  ContentPtr content;
  Array gradient;
  bool requires_gradient = false;
  uint64_t born;  ///< number of the event at creation, in the same count as Step::order

  Array array() { return Array(shared_from_this()); }
  /// Content to store for `value`. A parameter stops gradients.
  ContentPtr held(Content value);
};

/// The next event number of the process.
uint64_t next_event();

using Arrays = std::vector<Array>;

}  // namespace halfstep::capture

namespace halfstep {
using capture::Array;
}
