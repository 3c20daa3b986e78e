#include "halfstep/engine/capture/array.h"

#include <fmt/format.h>

#include <atomic>

#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {

uint64_t next_event() {
  static std::atomic<uint64_t> events{0};
  return events.fetch_add(1, std::memory_order_relaxed);
}

Cell::Cell(ContentPtr first) : content(std::move(first)), born(next_event()) {}

ContentPtr Cell::held(Content value) {
  if (requires_gradient) {
    value.producer = nullptr;
    value.differentiable = true;
    value.leaf = weak_from_this();
  }
  return std::make_shared<const Content>(std::move(value));
}

Array::Array(const Tensor& contents, Place place)
    : Array(std::make_shared<const Content>(Content{contents.type(), place, contents})) {}

Array::Array(ContentPtr content) : cell_(std::make_shared<Cell>(std::move(content))) {}

const ContentPtr& Array::content() const {
  if (cell_ == nullptr) fail(errors::array_missing());
  return cell_->content;
}

const Tensor& Array::tensor() const {
  const Content& now = *content();
  if (!now.tensor.defined()) refuse_contents(now, "elements");
  return now.tensor;
}

bool Array::requires_gradient() const { return cell_ != nullptr && cell_->requires_gradient; }

void Array::require_gradient(bool required) {
  if (required && !is_float(dtype())) fail(errors::gradient_of_no_float(to_string(type())));
  const Array value = Trace::current() == nullptr ? *this : detach(*this);
  Content now = *value.content();
  now.producer = nullptr;
  now.differentiable = false;
  now.leaf.reset();
  cell_->requires_gradient = required;
  replace_content(*cell_, std::move(now), value);
}

Array Array::gradient() const {
  if (cell_ == nullptr) return {};
  note_gradient(*cell_, false);
  return cell_->gradient;
}

void Array::set_gradient(Array gradient) {
  if (gradient && gradient.type() != type())
    fail(errors::array_type_kept("gradient", to_string(gradient.type()), to_string(type())));
  note_gradient(*cell_, true);
  cell_->gradient = std::move(gradient);
}

void Array::assign(const Array& value) {
  if (value.type() != type()) fail(errors::array_type_kept("assign", to_string(value.type()), to_string(type())));
  if (value.place() != place())
    fail(errors::arrays_on_different_devices("assign", fmt::format("an array on {}", to_string(value.place())),
                                             fmt::format("one on {}", to_string(place()))));
  const Array given = switches().gradients || !value.is_differentiable() ? value : detach(value);
  if (cell_->requires_gradient && switches().gradients) fail(errors::assigned_parameter_requires_gradient());
  replace_content(*cell_, *given.content(), given);
}

}  // namespace halfstep::capture
