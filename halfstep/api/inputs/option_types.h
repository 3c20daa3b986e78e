// Conversion between words and the types of options.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "halfstep/api/inputs/option.h"
#include "halfstep/api/options.h"

namespace halfstep::api {

/// Defines read(entry, word, where) and write(value) for a type whose values are single words.
template <class T, class = void>
struct OptionText;

bool read_switch(const std::string& word, const std::string& where);
/// Also accepts fractions: "1/255".
double read_number(const OptionEntry& entry, bool whole, const std::string& word, const std::string& where);
/// Returns the index among the choices. Throws not_a_choice with the nearest one.
size_t read_choice(std::span<const std::string_view> choices, const std::string& word, const std::string& where);
/// Returns the shortest text that reads back to the same number.
std::string write_number(double number);

template <>
struct OptionText<bool> {
  static bool read(const OptionEntry&, const std::string& word, const std::string& where) {
    return read_switch(word, where);
  }
  static std::string write(bool value) { return value ? "true" : "false"; }
};

template <class T>
struct OptionText<T, std::enable_if_t<std::is_arithmetic_v<T> && !std::is_same_v<T, bool>>> {
  static T read(const OptionEntry& entry, const std::string& word, const std::string& where) {
    return static_cast<T>(read_number(entry, std::is_integral_v<T>, word, where));
  }
  static std::string write(T value) {
    if constexpr (std::is_integral_v<T>)
      return std::to_string(value);
    else
      return write_number(static_cast<double>(value));
  }
};

template <class T>
struct OptionText<T, std::enable_if_t<std::is_enum_v<T>>> {
  static T read(const OptionEntry&, const std::string& word, const std::string& where) {
    return static_cast<T>(read_choice(choices_of(T()), word, where));
  }
  static std::string write(T value) { return std::string(choices_of(T())[static_cast<size_t>(value)]); }
};

template <>
struct OptionText<std::string> {
  static std::string read(const OptionEntry& entry, const std::string& word, const std::string& where);
  static std::string write(const std::string& value) { return value; }
};

template <>
struct OptionText<std::filesystem::path> {
  static std::filesystem::path read(const OptionEntry&, const std::string& word, const std::string&) { return word; }
  static std::string write(const std::filesystem::path& value) { return value.string(); }
};

#define HALFSTEP_OPTION_TYPE(Type)                                                                 \
  template <>                                                                                      \
  struct OptionText<Type> {                                                                        \
    static Type read(const OptionEntry& entry, const std::string& word, const std::string& where); \
    static std::string write(const Type& value);                                                   \
  };

HALFSTEP_OPTION_TYPE(train::RateSchedule)
HALFSTEP_OPTION_TYPE(data::PreprocessOptions)
HALFSTEP_OPTION_TYPE(StageBits)
HALFSTEP_OPTION_TYPE(LayerBits)
HALFSTEP_OPTION_TYPE(data::PictureSize)
HALFSTEP_OPTION_TYPE(board::ElementOrder)
HALFSTEP_OPTION_TYPE(quant::Override)
HALFSTEP_OPTION_TYPE(Place)
HALFSTEP_OPTION_TYPE(SeedRange)
#undef HALFSTEP_OPTION_TYPE

/// Returns the elements of a list: the words, split at the entry's separator, if any.
Words elements_of(const OptionEntry& entry, const Words& words, const std::string& where);
/// Throws option_of_other_form if the entry requires another number of elements.
void require_count(const OptionEntry& entry, const Words& elements, const std::string& where);
/// Returns the only word. Throws option_of_other_form for none or several.
const std::string& only_word(const Words& words, const std::string& where);

template <class T>
struct OptionWords {
  static constexpr bool kIsList = false;
  static T read(const OptionEntry& entry, const Words& words, const std::string& where) {
    return OptionText<T>::read(entry, only_word(words, where), where);
  }
  static Words write(const T& value) {
    const std::string word = OptionText<T>::write(value);
    return word.empty() ? Words() : Words{word};
  }
};

template <class T>
struct OptionWords<std::optional<T>> {
  static constexpr bool kIsList = OptionWords<T>::kIsList;
  static std::optional<T> read(const OptionEntry& entry, const Words& words, const std::string& where) {
    return OptionWords<T>::read(entry, words, where);
  }
  static Words write(const std::optional<T>& value) { return value ? OptionWords<T>::write(*value) : Words(); }
};

template <class T>
struct OptionWords<std::vector<T>> {
  static constexpr bool kIsList = true;
  static std::vector<T> read(const OptionEntry& entry, const Words& words, const std::string& where) {
    std::vector<T> values;
    const Words elements = elements_of(entry, words, where);
    for (const std::string& word : elements) values.push_back(OptionText<T>::read(entry, word, where));
    require_count(entry, elements, where);
    return values;
  }
  static Words write(const std::vector<T>& values) {
    Words words;
    for (const T& value : values) words.push_back(OptionText<T>::write(value));
    return words;
  }
};

/// Binds the variables of a verb to its entries, in the order of the entries.
class Binder {
 public:
  explicit Binder(std::span<const OptionEntry> entries) : entries_(entries) {}

  template <class T>
  void operator()(T& value) {
    const OptionEntry& entry = entries_[options_.size()];
    options_.push_back({&entry,
                        [&entry, &value](const Words& words, const std::string& where) {
                          value = OptionWords<T>::read(entry, words, where);
                        },
                        [&value] { return OptionWords<T>::write(value); },
                        std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>, OptionWords<T>::kIsList});
  }
  std::vector<BoundOption> options() { return std::move(options_); }

 private:
  std::span<const OptionEntry> entries_;
  std::vector<BoundOption> options_;
};

}  // namespace halfstep::api
