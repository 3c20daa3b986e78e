#include "halfstep/engine/eager/signature.h"

#include <cstring>

namespace halfstep::eager {

// Every part starts with a word that holds its kind and length, so different calls never have equal words.

void Signature::add(uint64_t word) {
  hash_ = (std::rotl(hash_, 25) ^ word) * 0xD6E8FEB86659FD93;
  if (heap_.empty() && count_ < kInline) {
    inline_[count_++] = word;
    return;
  }
  if (heap_.empty()) heap_.assign(inline_.begin(), inline_.end());
  heap_.push_back(word);
}

void Signature::add(std::string_view text) {
  add(uint64_t{text.size()});
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min(sizeof(word), text.size() - i));
    add(word);
  }
}

template <class T>
void Signature::add_list(const std::vector<T>& list) {
  add(uint64_t{list.size()});
  for (const T& item : list) add(item);
}

void Signature::attribute(size_t position, const Attribute& value) {
  add(uint64_t{1} << 32 | position << 8 | value.index());
  if (const auto* boolean = std::get_if<bool>(&value)) {
    add(uint64_t{*boolean});
  } else if (const auto* integer = std::get_if<int64_t>(&value)) {
    add(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    add(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    add(*text);
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
    add_list(*integers);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    add_list(*floats);
  } else {
    add_list(std::get<std::vector<std::string>>(value));
  }
}

void Signature::operand(const kernels::ConstView& view) {
  if (!view.present()) return add(uint64_t{2} << 32);
  add(uint64_t{3} << 32 | view.dims.size() << 8 | static_cast<uint64_t>(view.dtype));
  for (const int64_t extent : view.dims) add(extent);
}

Signature signature_of(const OpInfo& info, const Attributes& attributes, std::span<const kernels::ConstView> operands) {
  Signature signature(info);
  for (const auto& [name, value] : attributes) {
    const AttributeInfo* attribute = info.attribute(name);
    if (attribute == nullptr) complete_attributes(info, attributes, "call");
    signature.attribute(static_cast<size_t>(attribute - info.attributes.data()), value);
  }
  for (const kernels::ConstView& operand : operands) signature.operand(operand);
  return signature;
}

}  // namespace halfstep::eager
