// The platform record for which a network was prepared. This room treats it as text. quant/platform parses it once for
// all copies of a Model.
#pragma once

#include <any>
#include <memory>
#include <mutex>
#include <string>

namespace halfstep {

/// Empty, or the text of a resolved record and its parsed form. Copies share both.
class PlatformRecord {
 public:
  PlatformRecord() = default;
  explicit PlatformRecord(std::string text) : held_(std::make_shared<Held>()) { held_->text = std::move(text); }

  explicit operator bool() const { return held_ != nullptr; }
  /// Returns "" if empty.
  std::string text() const { return held_ ? held_->text : std::string(); }

  /// Returns the result of `read` on the text. The record must not be empty. Only the first call runs `read`, and all
  /// calls return the same T. It lives as long as any copy of this record.
  template <class T>
  const T& as(T (*read)(const std::string& text)) const {
    const std::scoped_lock lock(held_->mutex);
    if (!held_->value.has_value()) held_->value = read(held_->text);
    return std::any_cast<const T&>(held_->value);
  }

  bool operator==(const PlatformRecord& other) const { return bool(*this) == bool(other) && text() == other.text(); }

 private:
  struct Held {
    std::string text;
    std::mutex mutex;
    std::any value;
  };
  std::shared_ptr<Held> held_;
};

}  // namespace halfstep
