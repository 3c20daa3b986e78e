#include "halfstep/core/files/safetensors_header.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/errors.h"

namespace halfstep::io {
namespace {

using Json = nlohmann::json;

/// Processes the header during parsing, so that a hostile text never becomes a tree in memory.
class HeaderReader {
 public:
  HeaderReader(const std::string& file, SafetensorsHeader& header) : file_(file), header_(header) {}

  bool null() { return unexpected("null"); }
  bool boolean(bool /*value*/) { return unexpected("a boolean"); }
  bool number_integer(Json::number_integer_t value) { return unexpected(std::to_string(value)); }
  bool number_float(Json::number_float_t /*value*/, const std::string& text) { return unexpected(text); }
  bool binary(Json::binary_t& /*value*/) { return unexpected("binary data"); }

  bool number_unsigned(Json::number_unsigned_t value) {
    if (where_ != Where::list || value > INT64_MAX) return unexpected(std::to_string(value));
    list_->push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(std::string& value) {
    if (where_ == Where::metadata) {
      if (!header_.metadata.emplace(key_, std::move(value)).second) fail(errors::given_twice(file_ + ": " + place()));
    } else if (where_ == Where::entry && key_ == "dtype") {
      entry_->dtype = std::move(value);
    } else {
      return unexpected("a string");
    }
    return true;
  }

  bool start_object(size_t /*elements*/) {
    switch (where_) {
      case Where::start: where_ = Where::top; return true;
      case Where::top: return start_entry();
      default: return unexpected("an object");
    }
  }

  bool end_object() {
    if (where_ == Where::entry) {
      for (const char* key : {"dtype", "shape", "data_offsets"}) {
        if (!seen_.contains(key)) fail(errors::safetensors_key_missing(file_, tensor_, key));
      }
    }
    where_ = Where::top;
    return true;
  }

  bool key(std::string& value) {
    key_ = std::move(value);
    if (where_ != Where::entry) return true;
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
      fail(errors::safetensors_key_unknown(file_, tensor_, key_));
    if (!seen_.emplace(key_, true).second) fail(errors::given_twice(file_ + ": " + place()));
    return true;
  }

  bool start_array(size_t /*elements*/) {
    if (where_ != Where::entry || key_ == "dtype") return unexpected("a list");
    list_ = key_ == "shape" ? &entry_->shape : &entry_->offsets;
    where_ = Where::list;
    return true;
  }

  bool end_array() {
    where_ = Where::entry;
    return true;
  }

  bool parse_error(size_t position, const std::string& /*token*/, const Json::exception& /*error*/) {
    fail(errors::safetensors_header_not_json(file_, position));
  }

 private:
  enum class Where { start, top, metadata, entry, list };

  bool start_entry() {
    if (key_ == "__metadata__") {
      if (seen_metadata_) fail(errors::given_twice(file_ + ": " + place()));
      seen_metadata_ = true;
      where_ = Where::metadata;
      return true;
    }
    const auto [found, fresh] = header_.tensors.try_emplace(key_);
    if (!fresh) fail(errors::given_twice(fmt::format("{}: header: tensor '{}'", file_, key_)));
    tensor_ = key_;
    entry_ = &found->second;
    seen_.clear();
    where_ = Where::entry;
    return true;
  }

  std::string place() const {
    switch (where_) {
      case Where::start: return "header";
      case Where::top: return fmt::format("header: '{}'", key_);
      case Where::metadata: return fmt::format("header: __metadata__: '{}'", key_);
      default: return fmt::format("header: tensor '{}': {}", tensor_, key_);
    }
  }

  bool unexpected(std::string_view found) const {
    const char* expected = "";
    switch (where_) {
      case Where::start:
      case Where::top: expected = "an object"; break;
      case Where::metadata: expected = "a string"; break;
      case Where::entry: expected = key_ == "dtype" ? "a string" : "a list of numbers"; break;
      case Where::list: expected = "an integer from 0 to 2^63 - 1"; break;
    }
    fail(errors::safetensors_header_value(file_ + ": " + place(), found, expected));
  }

  const std::string& file_;
  SafetensorsHeader& header_;
  Where where_ = Where::start;
  std::string key_, tensor_;
  HeaderEntry* entry_ = nullptr;
  std::vector<int64_t>* list_ = nullptr;
  std::map<std::string, bool> seen_;
  bool seen_metadata_ = false;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& file) {
  SafetensorsHeader header;
  HeaderReader reader(file, header);
  Json::sax_parse(text, &reader);
  return header;
}

}  // namespace halfstep::io
