// The record of the platform that a network was prepared for. This room does not know what is in it: quant/platform
// reads it, once for all copies of a Model.
#pragma once

#include <any>
#include <memory>
#include <mutex>
#include <string>

namespace halfstep {

/// Nothing, or the text of a resolved record with what it was read as. Copies share both.
class PlatformRecord {
 public:
  PlatformRecord() = default;
  explicit PlatformRecord(std::string text) : held_(std::make_shared<Held>()) { held_->text = std::move(text); }

  explicit operator bool() const { return held_ != nullptr; }
  /// "" for nothing.
  std::string text() const { return held_ ? held_->text : std::string(); }

  /// What `read` makes of the text of a record that is there; the first call reads, and all calls give the same T.
  /// Lives as long as a copy of this.
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
